/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_image: simulated processes within one process of the system */
#include "test/sim/sim_image.h"

#include "test/sim/sim_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Compiled for AVX2 too, as in redop.c. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
	!defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

enum {
	LINE = 64, /* bytes; a region has at most 64 lines */
	WORD = sizeof(uint64_t),
	COMPARED = 512, /* bytes that are compared at once */
	BELOW = 512,	/* bytes of the stack below a context */
	TURNS = 8,	/* of each process, between references */
	CHUNK_LEN = 1024,
	POOL_LEN = 2 << 20, /* bytes; chunks that are allocated at once */
	AHEAD = 4,	    /* regions that are saved while a chunk is
			       fetched */
};

typedef uint64_t four __attribute__((vector_size(32), may_alias, aligned(1)));
typedef uint64_t word __attribute__((may_alias, aligned(1)));

/* A copy of the memory of a process. */
struct reference {
	size_t n_images; /* that have the words which differ from it */
	size_t n_regions;
	char *parts; /* of the regions; NULL: the initial values */
};

/* In an image, the words of a region that differ. A byte for each line that
 * differs follows, with a bit for each word, and then these words. */
struct changed {
	uint32_t region;
	uint16_t n_lines, n_words;
	uint64_t lines; /* a bit for each line */
};

/* Images consist of these, so that memory is not fragmented. */
struct chunk {
	struct chunk *next;
	char bytes[CHUNK_LEN - sizeof(struct chunk *)];
};

struct image {
	struct chunk *first;
	size_t len;
	struct reference *reference;
	ucontext_t *context; /* on the stack; NULL: has not started */
	uintptr_t stack;     /* lowest byte in use */
};

struct images {
	uint32_t n, current, next;
	size_t n_turns;
	void (*run)(uint32_t rank);
	ucontext_t context; /* of sim_images_run() */
	const struct sim_memory *memory;
	struct reference *initial;
	struct reference *present;   /* that of the values in memory */
	struct reference *reference; /* of the images that are saved now */
	char *data;		     /* has space for an image */
	struct chunk *free;
	struct image image[]; /* n + 1; the last one is not used */
};

/* In memory that all processes share. */
static struct images *images;

static const struct sim_region *region_at(size_t k)
{
	return &images->memory->regions[k];
}

/* True if a region is a part of the stack that a process does not use. */
static bool is_unused(size_t k, const struct image *image)
{
	const struct sim_region *r = region_at(k);

	return k < images->memory->n_stack &&
	       (uintptr_t)r->at + r->len <= image->stack;
}

/* ---- references ---- */

/* The values of a region in a reference. */
static const char *referred(const struct reference *from, size_t k)
{
	return k < from->n_regions ? from->parts + k * SIM_PART
				   : region_at(k)->initial;
}

static void reference_drop(struct reference *reference)
{
	if (--reference->n_images)
		return;
	if (reference->parts)
		munmap(reference->parts, reference->n_regions * SIM_PART);
	free(reference);
}

static struct reference *reference_create(void)
{
	struct reference *reference = calloc(1, sizeof(*reference));

	if (!reference)
		abort();
	reference->n_images = 1; /* images->reference */
	return reference;
}

/* Makes the memory of a process the reference. */
static SIM_UNCHECKED void reference_take(const struct image *image)
{
	struct reference *to = reference_create();

	to->n_regions = images->memory->n_regions;
	to->parts = sim_map(to->n_regions * SIM_PART);
	for (size_t k = 0; k < to->n_regions; k++)
		if (!is_unused(k, image))
			sim_copy(to->parts + k * SIM_PART, region_at(k)->at,
				region_at(k)->len);
	reference_drop(images->reference);
	images->reference = to;
}

/* ---- images ---- */

/* Returns a bit for each line of a region that differs. */
static SIM_UNCHECKED WIDE uint64_t lines_of(
	const char *a, const char *b, size_t len)
{
	uint64_t lines = 0;
	size_t at = 0;

	for (; at + COMPARED <= len; at += COMPARED) {
		const four *p = (const four *)(const void *)(a + at);
		const four *q = (const four *)(const void *)(b + at);
		four all = { 0 };

		for (size_t i = 0; i < COMPARED / sizeof(four); i++)
			all |= p[i] ^ q[i];
		if (!(all[0] | all[1] | all[2] | all[3]))
			continue;
		for (size_t i = 0; i < COMPARED / LINE; i++, p += 2, q += 2) {
			all = (p[0] ^ q[0]) | (p[1] ^ q[1]);
			lines |= (uint64_t)((all[0] | all[1] | all[2] |
						    all[3]) != 0)
				 << (at / LINE + i);
		}
	}
	for (; at < len; at++)
		lines |= (uint64_t)(a[at] != b[at]) << (at / LINE);
	return lines;
}

/* Copies a word, or what there is of it. */
static SIM_UNCHECKED void copy_word(char *to, const char *from, size_t len)
{
	if (len >= WORD)
		*(word *)(void *)to = *(const word *)(const void *)from;
	else
		sim_copy(to, from, len);
}

static size_t changed_len(const struct changed *changed)
{
	size_t len = sizeof(*changed) + changed->n_lines +
		     (size_t)changed->n_words * WORD;

	return (len + WORD - 1) / WORD * WORD;
}

/* Appends the words of a line that differ from the reference, and restores
 * those of the reference. Returns a bit for each word. */
static SIM_UNCHECKED uint8_t line_save(word **to, word *at, const word *from)
{
	unsigned mask = 0;

	for (size_t i = 0; i < LINE / WORD; i++) {
		bool differs = at[i] != from[i];

		**to = at[i];
		*to += differs;
		mask |= (unsigned)differs << i;
		at[i] = from[i];
	}
	return (uint8_t)mask;
}

/* The same for the last line of a region, of len bytes. */
static SIM_UNCHECKED uint8_t end_save(
	word **to, char *at, const char *from, size_t len)
{
	word line[LINE / WORD] = { 0 }, reference[LINE / WORD] = { 0 };

	sim_copy((char *)line, at, len);
	sim_copy((char *)reference, from, len);
	sim_copy(at, from, len);
	return line_save(to, line, reference);
}

/* Appends the words of a region that differ from the reference, and restores
 * those of the reference. `lines` are the lines that differ. */
static SIM_UNCHECKED char *region_save(char *to, uint32_t k, uint64_t lines)
{
	const struct sim_region *r = region_at(k);
	const char *from = referred(images->reference, k);
	struct changed *changed = (struct changed *)(void *)to;
	uint8_t *masks = (uint8_t *)(changed + 1);
	word *words, *first;

	*changed = (struct changed){ .region = k, .lines = lines };
	for (uint64_t left = lines; left; left &= left - 1)
		changed->n_lines++;
	words = first = (word *)(void *)(masks + changed->n_lines);
	for (uint64_t left = lines; left; left &= left - 1, masks++) {
		size_t at = (size_t)__builtin_ctzll(left) * LINE;

		if (at + LINE <= r->len)
			*masks = line_save(&words, (word *)(void *)(r->at + at),
				(const word *)(const void *)(from + at));
		else
			*masks = end_save(
				&words, r->at + at, from + at, r->len - at);
	}
	changed->n_words = (uint16_t)(words - first);
	return to + changed_len(changed);
}

static SIM_UNCHECKED void region_load(const struct changed *changed)
{
	const struct sim_region *r = region_at(changed->region);
	const uint8_t *masks = (const uint8_t *)(changed + 1);
	const char *words = (const char *)masks + changed->n_lines;

	for (uint64_t left = changed->lines; left; left &= left - 1, masks++) {
		size_t start = (size_t)__builtin_ctzll(left) * LINE;

		for (unsigned mask = *masks; mask; mask &= mask - 1) {
			size_t at = start + (size_t)__builtin_ctz(mask) * WORD;

			copy_word(r->at + at, words, r->len - at);
			words += WORD;
		}
	}
}

/* Adds free chunks. */
static void pool_grow(void)
{
	struct chunk *pool = sim_map(POOL_LEN);

	madvise(pool, POOL_LEN, MADV_HUGEPAGE);
	for (size_t i = POOL_LEN / sizeof(*pool); i-- > 0;) {
		pool[i].next = images->free;
		images->free = &pool[i];
	}
}

/* Copies the data of the image to its chunks. */
static void image_store(struct image *image)
{
	struct chunk **at = &image->first, *rest;
	size_t done = 0;

	while (done < image->len) {
		size_t n = image->len - done;

		if (n > sizeof((*at)->bytes))
			n = sizeof((*at)->bytes);
		if (!*at) {
			if (!images->free)
				pool_grow();
			*at = images->free;
			images->free = (*at)->next;
			(*at)->next = NULL;
		}
		memcpy((*at)->bytes, images->data + done, n);
		done += n;
		at = &(*at)->next;
	}
	while ((rest = *at) != NULL) {
		*at = rest->next;
		rest->next = images->free;
		images->free = rest;
	}
}

/* Copies the data of the image from its chunks. */
static void image_gather(const struct image *image)
{
	char *to = images->data;

	for (const struct chunk *c = image->first; c; c = c->next) {
		memcpy(to, c->bytes, sizeof(c->bytes));
		to += sizeof(c->bytes);
	}
}

/* Fetches a chunk to the cache of the processor. Returns the next one. */
static const struct chunk *prefetch(const struct chunk *chunk)
{
	if (!chunk)
		return NULL;
	for (size_t at = 0; at < sizeof(*chunk); at += LINE)
		__builtin_prefetch((const char *)chunk + at);
	return chunk->next;
}

/* The lines of a region that differ from the reference. Without those of the
 * stack that the process does not use. */
static uint64_t changed_lines(size_t k, const struct image *image)
{
	const struct sim_region *r = region_at(k);
	uint64_t lines;

	if (is_unused(k, image))
		return 0;
	lines = lines_of(r->at, referred(images->reference, k), r->len);
	if (k < images->memory->n_stack && (uintptr_t)r->at < image->stack)
		lines &= UINT64_MAX << (image->stack - (uintptr_t)r->at) / LINE;
	return lines;
}

/* Makes the image the words that differ from the reference, and restores those
 * of the reference. Prefetches the image that is loaded next. */
static void image_save(struct image *image, const struct image *next)
{
	const struct chunk *ahead = next->first;
	char *end = images->data;

	for (uint32_t k = 0; k < images->memory->n_regions; k++) {
		uint64_t lines = changed_lines(k, image);

		if (lines)
			end = region_save(end, k, lines);
		if (k % AHEAD == 0)
			ahead = prefetch(ahead);
	}
	image->len = (size_t)(end - images->data);
	image_store(image);
	reference_drop(image->reference);
	image->reference = images->present = images->reference;
	image->reference->n_images++;
}

/* Copies the values of a reference to the memory. */
static void reference_load(struct reference *from)
{
	const struct sim_memory *m = images->memory;

	for (size_t k = m->n_stack; k < m->n_regions; k++)
		sim_copy(
			region_at(k)->at, referred(from, k), region_at(k)->len);
	images->present = from;
}

static void image_load(const struct image *image)
{
	if (image->reference != images->present)
		reference_load(image->reference);
	for (size_t k = 0; image->context && k < images->memory->n_stack; k++)
		if (!is_unused(k, image))
			sim_copy(region_at(k)->at,
				referred(image->reference, k),
				region_at(k)->len);
	image_gather(image);
	for (size_t at = 0; at < image->len;) {
		const struct changed *changed =
			(const void *)(images->data + at);

		region_load(changed);
		at += changed_len(changed);
	}
}

/* ---- turns ---- */

static void image_main(void)
{
	images->run(images->current);
	abort(); /* it does not return */
}

static void image_start(uint32_t rank)
{
	ucontext_t start;

	getcontext(&start);
	start.uc_stack.ss_sp = sim_stack_of(rank);
	start.uc_stack.ss_size = SIM_STACK_LEN;
	makecontext(&start, image_main, 0);
	swapcontext(&images->context, &start);
}

void sim_images_run(uint32_t first)
{
	struct image *image;

	for (images->next = first; images->next != images->n;
		image_save(image, &images->image[images->next])) {
		images->current = images->next;
		image = &images->image[images->current];
		image_load(image);
		if (image->context)
			swapcontext(&images->context, image->context);
		else
			image_start(images->current);
		if (++images->n_turns % ((size_t)TURNS * images->n) == 0)
			reference_take(image);
	}
	reference_load(images->initial);
	images->current = images->n;
}

void sim_image_switch(uint32_t to)
{
	struct image *image = &images->image[images->current];
	ucontext_t here;

	image->context = &here;
	image->stack = (uintptr_t)&here - BELOW;
	images->next = to;
	swapcontext(&here, &images->context);
}

void sim_images_create(uint32_t n, void (*run)(uint32_t rank))
{
	images = sim_map(sizeof(*images) + (n + 1) * sizeof(images->image[0]));
	images->n = images->current = n;
	images->run = run;
	images->memory = sim_memory_create(n);
	/* the words, and at most one byte for each */
	images->data = sim_map(2 * images->memory->most_bytes);
	images->initial = images->reference = reference_create();
	images->present = images->initial;
	images->initial->n_images += n + 1;
	for (uint32_t i = 0; i < n; i++)
		images->image[i].reference = images->initial;
}
