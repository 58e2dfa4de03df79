/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_image: stacks and global variables of the simulated processes */
#include "test/sim/sim_image.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* Global variables have unused bytes between them for the sanitizer, which
 * reports accesses to them. */
#define UNCHECKED __attribute__((no_sanitize("address")))

enum {
	STACK_LEN = 256 * 1024,
	BLOCK = 128, /* a divisor of every size of a page */
	TLS_REGIONS = 8,
	LARGE = 16 * 1024,  /* such objects have a mapping of their own */
	GUARD = 0x57454654, /* the lowest word of a stack */
};

/* Copies and comparisons use vectors of two words. */
typedef uint64_t word __attribute__((vector_size(16), may_alias, aligned(1)));

/* A page or a thread-local block whose values the processes change. */
struct region {
	char *at;
	const char *initial; /* copy of the initial values */
	size_t len;
};

struct block {
	uint32_t region, offset;
	char bytes[BLOCK];
};

struct image {
	ucontext_t context;
	struct block *blocks; /* that differ from the initial values */
	size_t n_blocks, n_places;
	bool is_started;
};

/* Writable pages of a file that the process has mapped. */
struct segment {
	char *at;
	char *initial;
	size_t len;
};

enum { SEGMENTS = 8 };

struct images {
	uint32_t n, current;
	void (*run)(uint32_t rank);
	size_t page;
	char *stacks;
	struct segment segments[SEGMENTS];
	size_t n_segments;
	/* Only the pages that a process has written to. Pages without access
	 * for writing become regions at their first write. */
	struct region *regions;
	size_t n_regions;
	struct block *saved; /* has space for all blocks */
	struct image image[];
};

/* In the heap, so that all processes have the same. */
static struct images *images;

static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

/* ---- the writable memory ---- */

static void region_add(char *at, const char *initial, size_t len)
{
	images->regions[images->n_regions++] =
		(struct region){ at, initial, len };
}

/* Makes a page writable, and a region. */
static bool on_write(char *at)
{
	for (size_t i = 0; i < images->n_segments; i++) {
		const struct segment *s = &images->segments[i];
		size_t offset = (size_t)(at - s->at) & ~(images->page - 1);

		if (at < s->at || at >= s->at + s->len)
			continue;
		for (size_t k = 0; k < images->n_regions; k++)
			if (images->regions[k].at == s->at + offset)
				return false; /* it is writable already */
		if (mprotect(s->at + offset, images->page,
			    PROT_READ | PROT_WRITE))
			return false;
		region_add(s->at + offset, s->initial + offset, images->page);
		return true;
	}
	return false;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig == SIGSEGV && on_write(info->si_addr))
		return;
	fprintf(stderr, "weft-sim: process %u ended by signal %d\n",
		images->current, sig);
	signal(sig, SIG_DFL); /* the access occurs again */
}

static bool is_swapped(const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;

	return !*name || !strncmp(name, "libweft", strlen("libweft")) ||
	       !strncmp(name, "libmpi_abi", strlen("libmpi_abi"));
}

/* Returns the end of the part of a segment that the loader makes read-only, or
 * the start of the segment. */
static uintptr_t end_of_relro(
	const struct dl_phdr_info *info, const ElfW(Phdr) * load)
{
	uintptr_t page = images->page, start = load->p_vaddr & ~(page - 1);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t end = (ph->p_vaddr + ph->p_memsz) & ~(page - 1);

		if (ph->p_type == PT_GNU_RELRO && end > start &&
			ph->p_vaddr < load->p_vaddr + load->p_memsz)
			return end;
	}
	return start;
}

static int find_segments(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (!is_swapped(info->dlpi_name))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start, end;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_W))
			continue;
		start = end_of_relro(info, ph);
		end = (ph->p_vaddr + ph->p_memsz + images->page - 1) &
		      ~(images->page - 1);
		if (start >= end)
			continue;
		if (images->n_segments == SEGMENTS)
			fail("weft-sim: too many writable segments");
		images->segments[images->n_segments++] = (struct segment){
			.at = (char *)(info->dlpi_addr + start), /* NOLINT */
			.len = end - start,
		};
	}
	return 0;
}

static int add_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (!is_swapped(info->dlpi_name) || !info->dlpi_tls_data)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_TLS)
			continue;
		if (images->n_regions == TLS_REGIONS)
			fail("weft-sim: too many thread-local blocks");
		region_add(
			info->dlpi_tls_data, NULL, info->dlpi_phdr[i].p_memsz);
	}
	return 0;
}

/* memcpy() and memcmp() without the checks of the sanitizer */
static UNCHECKED void copy(char *to, const char *from, size_t len)
{
	size_t i = 0;

	for (; i + sizeof(word) <= len; i += sizeof(word))
		*(word *)(void *)(to + i) =
			*(const word *)(const void *)(from + i);
	for (; i < len; i++)
		to[i] = from[i];
}

static UNCHECKED bool is_equal(const char *a, const char *b, size_t len)
{
	word difference = { 0 };
	size_t i = 0;

	for (; i + sizeof(word) <= len; i += sizeof(word))
		difference |= *(const word *)(const void *)(a + i) ^
			      *(const word *)(const void *)(b + i);
	for (; i < len; i++)
		difference[0] |= a[i] != b[i];
	return !(difference[0] | difference[1]);
}

static char *copy_of(const char *from, size_t len)
{
	char *values = mmap(NULL, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (values == MAP_FAILED)
		fail("weft-sim: the initial values");
	copy(values, from, len);
	return values;
}

/* From here on, a write to a global variable makes its page a region. */
static void track_writes(void)
{
	size_t most = TLS_REGIONS, n_blocks = 0;
	struct sigaction action = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};
	stack_t stack = { .ss_size = STACK_LEN };

	dl_iterate_phdr(find_segments, NULL);
	for (size_t i = 0; i < images->n_segments; i++)
		most += images->segments[i].len / images->page;
	images->regions = calloc(most, sizeof(*images->regions));
	stack.ss_sp = malloc(stack.ss_size);
	if (!images->regions || !stack.ss_sp)
		fail("weft-sim");
	dl_iterate_phdr(add_tls, NULL);
	for (size_t i = 0; i < images->n_regions; i++) {
		struct region *r = &images->regions[i];

		r->initial = copy_of(r->at, r->len);
		n_blocks += r->len / BLOCK + 1;
	}
	for (size_t i = 0; i < images->n_segments; i++)
		n_blocks += images->segments[i].len / BLOCK;
	images->saved = mmap(NULL, n_blocks * sizeof(struct block),
		PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (images->saved == MAP_FAILED || sigaltstack(&stack, NULL) ||
		sigaction(SIGSEGV, &action, NULL) ||
		sigaction(SIGBUS, &action, NULL))
		fail("weft-sim");
	for (size_t i = 0; i < images->n_segments; i++) {
		struct segment *s = &images->segments[i];

		s->initial = copy_of(s->at, s->len);
		if (mprotect(s->at, s->len, PROT_READ))
			fail("weft-sim: mprotect");
	}
}

/* ---- images ---- */

static size_t block_len(const struct region *r, size_t offset)
{
	return r->len - offset < BLOCK ? r->len - offset : BLOCK;
}

/* Copies the changed blocks to the image, and restores their initial values. */
static UNCHECKED void image_save(struct image *image)
{
	size_t n = 0;

	for (uint32_t k = 0; k < images->n_regions; k++) {
		const struct region *r = &images->regions[k];

		for (size_t at = 0; at < r->len; at += BLOCK) {
			size_t len = block_len(r, at);
			struct block *block;

			/* a constant length makes faster code */
			if (len == BLOCK ? is_equal(r->at + at, r->initial + at,
						   BLOCK)
					 : is_equal(r->at + at, r->initial + at,
						   len))
				continue;
			block = &images->saved[n++];
			block->region = k;
			block->offset = (uint32_t)at;
			copy(block->bytes, r->at + at, len);
			copy(r->at + at, r->initial + at, len);
		}
	}
	if (n > image->n_places) {
		free(image->blocks);
		image->n_places = n + n / 8;
		image->blocks =
			malloc(image->n_places * sizeof(*image->blocks));
		if (!image->blocks)
			fail("weft-sim: an image");
	}
	if (n)
		memcpy(image->blocks, images->saved,
			n * sizeof(*image->blocks));
	image->n_blocks = n;
}

static UNCHECKED void image_load(const struct image *image)
{
	for (size_t i = 0; i < image->n_blocks; i++) {
		const struct block *block = &image->blocks[i];
		const struct region *r = &images->regions[block->region];

		copy(r->at + block->offset, block->bytes,
			block_len(r, block->offset));
	}
}

static char *stack_of(uint32_t rank)
{
	return images->stacks + (size_t)rank * STACK_LEN;
}

static void image_main(void)
{
	images->run(images->current);
	abort(); /* it does not return */
}

static void image_start(struct image *image, uint32_t rank)
{
	int guard = GUARD;

	memcpy(stack_of(rank), &guard, sizeof(guard));
	getcontext(&image->context);
	image->context.uc_stack.ss_sp = stack_of(rank);
	image->context.uc_stack.ss_size = STACK_LEN;
	makecontext(&image->context, image_main, 0);
	image->is_started = true;
}

static void check_stack(uint32_t rank)
{
	int guard;

	if (rank == images->n)
		return;
	memcpy(&guard, stack_of(rank), sizeof(guard));
	if (guard == GUARD)
		return;
	fprintf(stderr,
		"weft-sim: process %u needs more than %d bytes of stack\n",
		rank, STACK_LEN);
	_exit(1);
}

void sim_image_switch(uint32_t to)
{
	struct image *from_image = &images->image[images->current];
	struct image *to_image = &images->image[to];

	check_stack(images->current);
	images->current = to;
	if (!to_image->is_started && to != images->n)
		image_start(to_image, to);
	image_save(from_image);
	image_load(to_image);
	swapcontext(&from_image->context, &to_image->context);
}

void sim_image_trim(void)
{
	char here, *lowest = stack_of(images->current) + images->page;
	size_t used = (size_t)(lowest + STACK_LEN - &here);
	size_t kept = (used / images->page + 2) * images->page;

	if (kept < STACK_LEN)
		madvise(lowest, STACK_LEN - kept, MADV_DONTNEED);
}

bool sim_images_create(uint32_t n, void (*run)(uint32_t rank))
{
	size_t stacks = (size_t)n * STACK_LEN;

	images = calloc(1,
		sizeof(*images) + ((size_t)n + 1) * sizeof(images->image[0]));
	if (!images) {
		perror("weft-sim: the images of processes");
		return false;
	}
	images->stacks = mmap(NULL, stacks, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (images->stacks == MAP_FAILED) {
		perror("weft-sim: the stacks of processes");
		return false;
	}
	/* each stack uses a few small pages */
	madvise(images->stacks, stacks, MADV_NOHUGEPAGE);
	/* A table of objects gets new pages, of which a process uses few. In
	 * the heap, calloc() would write to all of them. The system merges
	 * adjacent mappings, so their number is within its limit. */
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_MMAP_MAX, INT_MAX);
	mallopt(M_TOP_PAD, 0);
	images->n = images->current = n;
	images->run = run;
	images->page = (size_t)sysconf(_SC_PAGESIZE);
	track_writes();
	return true;
}
