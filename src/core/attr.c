/* SPDX-License-Identifier: BSD-3-Clause */
/* attr: attributes cached on objects, and their keys
 *
 * One lock guards all keys and the attributes of all objects. The lock is held
 * only while the lists are read or changed, never while a user function runs. A
 * key exists while its number is valid or an attribute uses it. */
#include "core/attr.h"

#include "base/err.h"
#include "base/lock.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_KEYVAL = 1024 };

struct keyval {
	int id;
	int kind;
	enum weft_attr_lang lang; /* language of its functions */
	weft_attr_copy_fn *copy;
	weft_attr_delete_fn *del;
	void *extra;
	unsigned refs; /* one for the number, one for each attribute, and one
			  for each running call that uses the key */
	bool is_freed; /* the program freed the number; attributes may still
			  use the key */
};

struct attr {
	struct keyval *key;
	intptr_t value;	  /* the value as the program set it */
	intptr_t *number; /* owned copy of an integer that a Fortran program
			     set; NULL: set in C */
};

struct weft_attrs {
	size_t n;
	size_t capacity;
	struct attr *attrs; /* in the order of setting */
};

/* All keys. MPI defines their numbers per process. */
static struct {
	struct weft_spin spin; /* guards these fields and every weft_attrs */
	struct weft_map by_id;
	int n_made;
} keys;

static void lock(void)
{
	weft_spin_acquire(&keys.spin);
}

static void unlock(void)
{
	weft_spin_release(&keys.spin);
}

static void key_put(struct keyval *key)
{
	if (--key->refs)
		return;
	weft_map_remove(&keys.by_id, (uint64_t)key->id);
	free(key);
}

/* Returns the key with a number, or NULL. The lock is held. */
static struct keyval *attr_key_of(int kind, int id)
{
	struct keyval *key =
		id > 0 ? weft_map_get(&keys.by_id, (uint64_t)id) : NULL;

	return key && key->kind == kind ? key : NULL;
}

static int invalid_keyval(int id)
{
	return weft_err_set(WEFT_ERR_KEYVAL,
		"keyval %d is not valid for this kind of object, or was freed",
		id);
}

int weft_keyval_create(int kind, enum weft_attr_lang lang,
	weft_attr_copy_fn *copy, weft_attr_delete_fn *del, void *extra,
	int *keyval_out)
{
	struct keyval *key = calloc(1, sizeof(*key));
	int err;

	if (!key)
		return WEFT_ERR_NOMEM;
	*key = (struct keyval){
		.kind = kind,
		.lang = lang,
		.copy = copy,
		.del = del,
		.extra = extra,
		.refs = 1,
	};
	lock();
	key->id = FIRST_KEYVAL + keys.n_made;
	err = weft_map_put(&keys.by_id, (uint64_t)key->id, key);
	if (!err)
		keys.n_made++;
	unlock();
	if (err) {
		free(key);
		return err;
	}
	*keyval_out = key->id;
	return 0;
}

int weft_keyval_free(int kind, int id)
{
	struct keyval *key;

	lock();
	key = attr_key_of(kind, id);
	if (key && !key->is_freed) {
		key->is_freed = true;
		key_put(key);
	}
	unlock();
	return key ? 0 : invalid_keyval(id);
}

/* Returns the attribute with this key, or NULL. The lock is held. */
static struct attr *attr_find(
	struct weft_attrs *attrs, const struct keyval *key)
{
	for (size_t i = 0; attrs && i < attrs->n; i++)
		if (attrs->attrs[i].key == key)
			return &attrs->attrs[i];
	return NULL;
}

/* Returns the value of an attribute as a program in this language reads it. */
static intptr_t value_in(const struct attr *attr, enum weft_attr_lang lang)
{
	if (!attr->number)
		return attr->value;
	return lang == WEFT_ATTR_C ? (intptr_t)attr->number : *attr->number;
}

/* Fills *attr with a value that a program in this language sets. 0 or
 * WEFT_ERR_NOMEM. */
static int attr_make(struct attr *attr, struct keyval *key,
	enum weft_attr_lang lang, intptr_t value)
{
	*attr = (struct attr){ .key = key, .value = value };
	if (lang == WEFT_ATTR_C)
		return 0;
	attr->number = malloc(sizeof(*attr->number));
	if (!attr->number)
		return WEFT_ERR_NOMEM;
	*attr->number = value;
	return 0;
}

/* Allocates space for one more attribute. The lock is held. */
static int attr_grow(struct weft_attrs **slot)
{
	struct weft_attrs *attrs = *slot;
	size_t capacity;
	void *grown;

	if (!attrs)
		attrs = *slot = calloc(1, sizeof(*attrs));
	if (!attrs)
		return WEFT_ERR_NOMEM;
	if (attrs->n < attrs->capacity)
		return 0;
	capacity = attrs->n ? 2 * attrs->n : 4;
	grown = realloc(attrs->attrs, capacity * sizeof(*attrs->attrs));
	if (!grown)
		return WEFT_ERR_NOMEM;
	attrs->attrs = grown;
	attrs->capacity = capacity;
	return 0;
}

/* Adds or replaces an attribute and acquires a reference on its key. The object
 * becomes the owner of the memory of *attr. The lock is held. */
static int attr_store(struct weft_attrs **slot, const struct attr *attr)
{
	struct attr *old = attr_find(*slot, attr->key);

	if (old) {
		free(old->number);
		*old = *attr;
		return 0;
	}
	if (attr_grow(slot)) {
		free(attr->number);
		return WEFT_ERR_NOMEM;
	}
	attr->key->refs++;
	(*slot)->attrs[(*slot)->n++] = *attr;
	return 0;
}

/* Removes an attribute. The lock is held. */
static void attr_drop(struct weft_attrs *attrs, struct attr *attr)
{
	key_put(attr->key);
	free(attr->number);
	memmove(attr, attr + 1,
		(size_t)(attrs->attrs + --attrs->n - attr) * sizeof(*attr));
}

/* Calls the delete function for a value. Does not remove the attribute. The
 * caller holds a reference on the key and no lock. */
static int run_delete(struct keyval *key, void *handle, intptr_t value)
{
	return key->del ? key->del(handle, key->id, (void *)value, key->extra)
			: 0;
}

/* Returns the key with a reference, and the value of the object's attribute
 * with this key, if the object has one. The value is for a program in the
 * language *lang; if lang is NULL, for the language of the key's functions. */
static struct keyval *attr_look_up(struct weft_attrs *const *attrs, int kind,
	int id, const enum weft_attr_lang *lang, bool *found_out,
	intptr_t *value_out)
{
	struct keyval *key;
	struct attr *attr;

	lock();
	key = attr_key_of(kind, id);
	if (key)
		key->refs++;
	attr = key ? attr_find(*attrs, key) : NULL;
	*found_out = attr;
	*value_out = attr ? value_in(attr, lang ? *lang : key->lang) : 0;
	unlock();
	return key;
}

static void key_release(struct keyval *key)
{
	lock();
	key_put(key);
	unlock();
}

int weft_attr_set(struct weft_attrs **attrs, int kind, void *handle, int id,
	enum weft_attr_lang lang, intptr_t value)
{
	struct keyval *key;
	struct attr attr;
	intptr_t old;
	bool found;
	int err;

	key = attr_look_up(attrs, kind, id, NULL, &found, &old);
	if (!key)
		return invalid_keyval(id);
	err = attr_make(&attr, key, lang, value);
	if (!err && found)
		err = run_delete(key, handle, old);
	lock();
	if (!err)
		err = attr_store(attrs, &attr);
	else
		free(attr.number);
	key_put(key);
	unlock();
	return err;
}

int weft_attr_get(struct weft_attrs *const *attrs, int kind, int id,
	enum weft_attr_lang lang, intptr_t *value_out, bool *found_out)
{
	struct keyval *key;
	intptr_t value;
	bool found;

	key = attr_look_up(attrs, kind, id, &lang, &found, &value);
	if (!key)
		return invalid_keyval(id);
	key_release(key);
	if (found)
		*value_out = value;
	*found_out = found;
	return 0;
}

int weft_attr_delete(struct weft_attrs **attrs, int kind, void *handle, int id)
{
	struct keyval *key;
	struct attr *attr;
	intptr_t value;
	bool found;
	int err;

	key = attr_look_up(attrs, kind, id, NULL, &found, &value);
	if (!key)
		return invalid_keyval(id);
	if (found)
		err = run_delete(key, handle, value);
	else
		err = weft_err_set(WEFT_ERR_KEYVAL,
			"the object has no attribute of keyval %d", id);
	lock();
	attr = err ? NULL : attr_find(*attrs, key);
	if (attr)
		attr_drop(*attrs, attr);
	key_put(key);
	unlock();
	return err;
}

int weft_attr_delete_all(struct weft_attrs **attrs, void *handle)
{
	int err = 0;

	for (;;) {
		struct keyval *key = NULL;
		struct attr *attr;
		intptr_t value = 0;

		lock();
		if (*attrs && (*attrs)->n) {
			attr = &(*attrs)->attrs[(*attrs)->n - 1];
			key = attr->key;
			value = value_in(attr, key->lang);
			key->refs++;
		}
		unlock();
		if (!key)
			return 0;
		err = run_delete(key, handle, value);
		lock();
		attr = err ? NULL : attr_find(*attrs, key);
		if (attr)
			attr_drop(*attrs, attr);
		key_put(key);
		unlock();
		if (err)
			return err;
	}
}

/* Copies one attribute by its copy function. The copy keeps the language of the
 * attribute, unless a copy function in C replaces Fortran's integer by another
 * address. */
static int copy_one(
	const struct attr *from, void *handle, struct weft_attrs **to)
{
	enum weft_attr_lang lang =
		from->number ? WEFT_ATTR_FORTRAN : WEFT_ATTR_C;
	struct keyval *key = from->key;
	intptr_t in = value_in(from, key->lang), out = in;
	struct attr attr;
	int flag = 1, err = 0;

	if (!key->copy)
		return 0;
	if (key->copy != WEFT_ATTR_DUP) {
		flag = 0;
		err = key->copy(
			handle, key->id, key->extra, (void *)in, &out, &flag);
	}
	if (err || !flag)
		return err;
	if (key->lang == WEFT_ATTR_C && from->number) {
		if (out == in)
			out = *from->number;
		else
			lang = WEFT_ATTR_C;
	}
	err = attr_make(&attr, key, lang, out);
	lock();
	if (!err)
		err = attr_store(to, &attr);
	unlock();
	return err;
}

/* Copies the list, because user functions may change the original. */
static int list_all(const struct weft_attrs *from, struct attr **list_out)
{
	struct attr *list = calloc(from->n, sizeof(*list));
	int err = list ? 0 : WEFT_ERR_NOMEM;

	for (size_t i = 0; list && i < from->n; i++) {
		const struct attr *a = &from->attrs[i];
		bool is_number = a->number != NULL;

		if (!err)
			err = attr_make(&list[i], a->key,
				is_number ? WEFT_ATTR_FORTRAN : WEFT_ATTR_C,
				is_number ? *a->number : a->value);
		list[i].key = a->key;
		a->key->refs++;
	}
	*list_out = list;
	return err;
}

int weft_attr_copy_all(
	struct weft_attrs *const *from, void *handle, struct weft_attrs **to)
{
	struct attr *list = NULL;
	size_t n = 0;
	int err = 0;

	lock();
	if (*from && (*from)->n) {
		err = list_all(*from, &list);
		n = list ? (*from)->n : 0;
	}
	unlock();
	for (size_t i = 0; i < n; i++) {
		if (!err)
			err = copy_one(&list[i], handle, to);
		key_release(list[i].key);
		free(list[i].number);
	}
	free(list);
	return err;
}

void weft_attrs_destroy(struct weft_attrs *attrs)
{
	if (!attrs)
		return;
	lock();
	for (size_t i = 0; i < attrs->n; i++) {
		key_put(attrs->attrs[i].key);
		free(attrs->attrs[i].number);
	}
	unlock();
	free(attrs->attrs);
	free(attrs);
}
