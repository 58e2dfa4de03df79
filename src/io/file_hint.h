/* SPDX-License-Identifier: BSD-3-Clause */
/* file_hint: the info keys of files, as numbers and back
 *
 * Which keys a file accepts, and with which values, is core/info_keys.def. */
#ifndef WEFT_FILE_HINT_H
#define WEFT_FILE_HINT_H

struct weft_file;
struct weft_file_hints;
struct weft_info;

/* The hints that the keys of info set; info may be NULL. */
void weft_file_hint_parse(
	const struct weft_info *info, struct weft_file_hints *hints_out);

/* Adds the hints of a file with the name path to info: a key and a value a
 * line, lines that begin with # are comments, the first line of a key counts.
 * A relative name starts at the directory in which the program began. Warns if
 * the file cannot be read. 0 or WEFT_ERR_NOMEM. */
int weft_file_hint_read(const char *path, struct weft_info *info);

/* A new info object with the keys in effect for a file: what the members have
 * agreed on, and the stripes that the file system reports. The caller destroys
 * it. 0 or WEFT_ERR_NOMEM. */
int weft_file_hint_in_effect(
	const struct weft_file *file, struct weft_info **info_out);

#endif
