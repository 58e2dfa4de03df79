/* SPDX-License-Identifier: BSD-3-Clause */
/* log: levels and one line format
 *
 * A line is `weft LEVEL host:pid[rank] ID text` on standard error. `error`: the
 * library cannot do the operation. `warn`: the library continues, but degraded.
 * `info`: at most a screen of lines per process. `debug`: lines per object.
 * `trace`: lines per message. Each warn and error carries a stable id such as
 * NET-NOPROV and names the knob or command that would change it. Control
 * characters in the text become \xNN. WEFT_LOG chooses the level (default
 * warn). */
#ifndef WEFT_LOG_H
#define WEFT_LOG_H

enum weft_log_level {
	WEFT_LOG_ERROR,
	WEFT_LOG_WARN,
	WEFT_LOG_INFO,
	WEFT_LOG_DEBUG,
	WEFT_LOG_TRACE,
};

/* Current level; read by the macros so that a silent line costs one load. */
extern enum weft_log_level weft_log_level;

/* Sets the level from a name ("error".."trace"); an unknown name is refused
 * with WEFT_ERR_ARG and changes nothing. NULL is accepted and changes
 * nothing. */
int weft_log_set_level(const char *name);

/* Sets the rank that each line shows; -1 (the start value): no rank. */
void weft_log_set_rank(int rank);

void weft_log_write(enum weft_log_level level, const char *id, const char *fmt,
	...) __attribute__((format(printf, 3, 4)));

#define weft_log(level, id, ...)                                            \
	((level) <= weft_log_level ? weft_log_write(level, id, __VA_ARGS__) \
				   : (void)0)
#define weft_log_error(id, ...) weft_log(WEFT_LOG_ERROR, id, __VA_ARGS__)
#define weft_log_warn(id, ...) weft_log(WEFT_LOG_WARN, id, __VA_ARGS__)
#define weft_log_info(id, ...) weft_log(WEFT_LOG_INFO, id, __VA_ARGS__)
#define weft_log_debug(id, ...) weft_log(WEFT_LOG_DEBUG, id, __VA_ARGS__)
#define weft_log_trace(id, ...) weft_log(WEFT_LOG_TRACE, id, __VA_ARGS__)

#endif
