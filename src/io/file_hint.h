/* SPDX-License-Identifier: BSD-3-Clause */
/* file_hint: converts the info keys of files to numbers and back
 *
 * core/info_keys.def has the keys that a file accepts, and their values. */
#ifndef WEFT_FILE_HINT_H
#define WEFT_FILE_HINT_H

struct weft_file;
struct weft_file_hints;
struct weft_info;

/* Sets *hints_out to the hints in info, and the other hints to their defaults.
 * info may be NULL. */
void weft_file_hint_parse(
	const struct weft_info *info, struct weft_file_hints *hints_out);

/* Reads the hints file `path` and adds its hints to info. Each line has a key
 * and a value. Lines that begin with # are comments. If a key has several
 * lines, the first line applies. A relative path is relative to the directory
 * in which the program started. Warns if the file cannot be read. 0 or
 * WEFT_ERR_NOMEM. */
int weft_file_hint_read(const char *path, struct weft_info *info);

/* Creates an info object with the hints in effect for a file: the values that
 * the members have agreed on, and the stripes that the file system reports. The
 * caller destroys the info object. 0 or WEFT_ERR_NOMEM. */
int weft_file_hint_in_effect(
	const struct weft_file *file, struct weft_info **info_out);

#endif
