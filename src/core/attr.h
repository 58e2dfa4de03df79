/* SPDX-License-Identifier: BSD-3-Clause */
/* attr: attributes cached on objects, and their keys
 *
 * Any thread. User functions are called without any lock, so they may use every
 * call here, also on the same object. Functions that call them return 0, a
 * negative error, or the positive code that the user's function returned.
 *
 * In C an attribute is an address, in Fortran an integer. The languages convert
 * each other's values (MPI 5.0, 19.3.7). For a value that Fortran set, C reads
 * the address of the integer. For a value that C set, Fortran reads the address
 * as an integer. The functions of a key receive values in the language in which
 * the key was created. */
#ifndef WEFT_ATTR_H
#define WEFT_ATTR_H

#include <stdbool.h>
#include <stdint.h>

enum weft_attr_lang { WEFT_ATTR_C, WEFT_ATTR_FORTRAN };

/* The user's functions; handle is the object's handle as the API knows it. */
typedef int weft_attr_copy_fn(void *handle, int keyval, void *extra,
	void *value, void *value_out, int *flag_out);
typedef int weft_attr_delete_fn(
	void *handle, int keyval, void *value, void *extra);

/* The predefined copy function that copies the value. With NULL as the copy
 * function, the attribute is not copied. */
#define WEFT_ATTR_DUP ((weft_attr_copy_fn *)1)

/* The attributes of one object; NULL until one was set. */
struct weft_attrs;

/* Creates a key for objects of a kind (enum weft_kind). */
int weft_keyval_create(int kind, enum weft_attr_lang lang,
	weft_attr_copy_fn *copy, weft_attr_delete_fn *del, void *extra,
	int *keyval_out);

/* Frees the key for the user. Its number and functions remain until the last
 * attribute with it is deleted; a second free before that has no effect.
 * WEFT_ERR_KEYVAL: there is no such key of this kind. */
int weft_keyval_free(int kind, int keyval);

/* Sets or replaces an attribute. The old value's delete function runs first; if
 * it fails, nothing changes. */
int weft_attr_set(struct weft_attrs **attrs, int kind, void *handle, int keyval,
	enum weft_attr_lang lang, intptr_t value);

/* Reads an attribute; *found_out is false if the object does not have it.
 * WEFT_ERR_KEYVAL: there is no such key. */
int weft_attr_get(struct weft_attrs *const *attrs, int kind, int keyval,
	enum weft_attr_lang lang, intptr_t *value_out, bool *found_out);

/* Runs the delete function and removes the attribute; if the function fails,
 * nothing changes. WEFT_ERR_KEYVAL also if the object has no such attribute. */
int weft_attr_delete(
	struct weft_attrs **attrs, int kind, void *handle, int keyval);

/* Copies the attributes whose copy functions permit the copy, in the order of
 * setting. Stops at the first failure; *to then holds the attributes copied so
 * far. */
int weft_attr_copy_all(
	struct weft_attrs *const *from, void *handle, struct weft_attrs **to);

/* Deletes all attributes, newest first; stops at the first failure. */
int weft_attr_delete_all(struct weft_attrs **attrs, void *handle);

/* Frees all attributes without calling user functions; NULL is accepted. */
void weft_attrs_destroy(struct weft_attrs *attrs);

#endif
