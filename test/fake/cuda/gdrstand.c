/* SPDX-License-Identifier: BSD-3-Clause */
/* gdrstand: a stand-in for GDRCopy, libgdrapi.so.2; README.md
 *
 * A mapping is a range of addresses that faults on each access. Copies find
 * their memory by the offset, and end the program if it is not the memory that
 * was mapped. */
#include "../dev/devstand.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 65536, MAX = 256 };

struct handle {
	unsigned long h;
};

struct mapping {
	uint64_t at;
	uint64_t
		n_allocated; /* allocations of the process when it was pinned */
	char *va;
	bool is_pinned;
};

static struct {
	struct stand *cuda; /* of the CUDA stand-in */
	struct stand_alloc *(*alloc_of)(uint64_t at);
	struct stand_alloc *(*alloc_among)(uint64_t at, size_t len);
	struct mapping of[MAX];
	long n_copies;
} gdr;

/* The number of copies. */
long gdrstandCopies(void);
long gdrstandCopies(void)
{
	return gdr.n_copies;
}

void *gdr_open(void);
void *gdr_open(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (!lib || getenv("DEVSTAND_NO_GDR"))
		return NULL;
	gdr.cuda = dlsym(lib, "stand");
	*(void **)&gdr.alloc_of = dlsym(lib, "stand_alloc_of");
	*(void **)&gdr.alloc_among = dlsym(lib, "stand_alloc_among");
	return gdr.cuda && gdr.alloc_of && gdr.alloc_among ? &gdr : NULL;
}

int gdr_pin_buffer(void *g, unsigned long at, size_t len, uint64_t token,
	uint32_t space, struct handle *out);
int gdr_pin_buffer(void *g, unsigned long at, size_t len, uint64_t token,
	uint32_t space, struct handle *out)
{
	const struct stand_alloc *a;
	unsigned long i = 0;
	int err = 0;

	(void)g;
	if (at % PAGE || len % PAGE || token || space)
		return EINVAL;
	pthread_mutex_lock(&gdr.cuda->lock);
	a = gdr.alloc_among(at, len);
	while (i < MAX && gdr.of[i].is_pinned)
		i++;
	if (!a || a->kind != STAND_DEVICE || i == MAX)
		err = EINVAL;
	else
		gdr.of[i] = (struct mapping){ .at = at,
			.n_allocated = gdr.cuda->n_allocated,
			.is_pinned = true };
	out->h = i;
	pthread_mutex_unlock(&gdr.cuda->lock);
	return err;
}

int gdr_unpin_buffer(void *g, struct handle handle);
int gdr_unpin_buffer(void *g, struct handle handle)
{
	(void)g;
	if (handle.h >= MAX || !gdr.of[handle.h].is_pinned ||
		gdr.of[handle.h].va)
		abort();
	gdr.of[handle.h].is_pinned = false;
	return 0;
}

int gdr_map(void *g, struct handle handle, void **va, size_t len);
int gdr_map(void *g, struct handle handle, void **va, size_t len)
{
	(void)g;
	*va = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	gdr.of[handle.h].va = *va;
	return *va == MAP_FAILED ? ENOMEM : 0;
}

int gdr_unmap(void *g, struct handle handle, void *va, size_t len);
int gdr_unmap(void *g, struct handle handle, void *va, size_t len)
{
	(void)g;
	if (handle.h >= MAX || gdr.of[handle.h].va != va)
		abort();
	gdr.of[handle.h].va = NULL;
	return munmap(va, len);
}

/* Returns the stand-in's address of mapped memory. Lock held. */
static char *memory_of(struct handle handle, const void *at, size_t len)
{
	const struct mapping *m = &gdr.of[handle.h];
	uint64_t offset = (uint64_t)((const char *)at - m->va);
	const struct stand_alloc *a = gdr.alloc_of(m->at + offset);
	uint64_t from = m->at + offset - (a ? (uintptr_t)a->base : 0);

	if (!m->va || offset + len > PAGE || !a || a->kind != STAND_DEVICE ||
		a->id > m->n_allocated || from + len > a->len) {
		fprintf(stderr,
			"gdrstand: %zu bytes at %p are not in the "
			"memory that was mapped\n",
			len, at);
		abort();
	}
	gdr.n_copies++;
	return a->alias + from;
}

int gdr_copy_to_mapping(
	struct handle handle, void *to, const void *from, size_t len);
int gdr_copy_to_mapping(
	struct handle handle, void *to, const void *from, size_t len)
{
	pthread_mutex_lock(&gdr.cuda->lock);
	memcpy(memory_of(handle, to, len), from, len);
	pthread_mutex_unlock(&gdr.cuda->lock);
	return 0;
}

int gdr_copy_from_mapping(
	struct handle handle, void *to, const void *from, size_t len);
int gdr_copy_from_mapping(
	struct handle handle, void *to, const void *from, size_t len)
{
	pthread_mutex_lock(&gdr.cuda->lock);
	memcpy(to, memory_of(handle, from, len), len);
	pthread_mutex_unlock(&gdr.cuda->lock);
	return 0;
}
