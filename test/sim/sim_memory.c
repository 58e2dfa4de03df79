/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_memory: the memory that each simulated process has for itself */
#include "test/sim/sim_memory.h"

#include "test/sim/sim.h"
#include "test/sim/sim_heap.h"

#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SEGMENTS = 8, REGIONS = 64 * 1024 };

/* Memory that becomes regions when it is written to. */
struct segment {
	char *at;
	char *initial; /* NULL: zero */
	size_t len;
};

/* In memory that all processes share, as are the arrays. */
static struct {
	struct sim_memory memory;
	size_t page;
	char *stacks;
	char *zero; /* SIM_PART bytes */
	struct segment segments[SEGMENTS];
	size_t n_segments;
} * own;

static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static void too_many(const char *what)
{
	fprintf(stderr, "weft-sim: too many %s\n", what);
	_exit(1);
}

void *sim_map(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		fail("weft-sim: memory for the images of processes");
	return at;
}

SIM_UNCHECKED void sim_copy(char *to, const char *from, size_t len)
{
	typedef uint64_t word __attribute__((may_alias, aligned(1)));
	size_t i = 0;

	for (; i + sizeof(word) <= len; i += sizeof(word))
		*(word *)(void *)(to + i) =
			*(const word *)(const void *)(from + i);
	for (; i < len; i++)
		to[i] = from[i];
}

char *sim_stack_of(uint32_t rank)
{
	return own->stacks +
	       (SIM_OWN_STACKS ? rank * (size_t)SIM_STACK_LEN : 0);
}

/* Adds the parts of some memory. initial NULL: zero. */
static void regions_add(char *at, const char *initial, size_t len)
{
	struct sim_memory *m = &own->memory;

	for (size_t i = 0; i < len; i += SIM_PART) {
		if (m->n_regions == REGIONS)
			too_many("pages are written to");
		m->regions[m->n_regions++] = (struct sim_region){ at + i,
			initial ? initial + i : own->zero,
			len - i < SIM_PART ? len - i : SIM_PART };
	}
}

/* ---- writes ---- */

static bool is_region(const char *at)
{
	for (size_t k = 0; k < own->memory.n_regions; k++)
		if (own->memory.regions[k].at == at)
			return true;
	return false;
}

/* Makes a page of a segment writable. */
static bool on_write(char *at)
{
	for (size_t i = 0; i < own->n_segments; i++) {
		const struct segment *s = &own->segments[i];
		size_t offset = (size_t)(at - s->at) & ~(own->page - 1);

		if (at < s->at || at >= s->at + s->len)
			continue;
		if (is_region(s->at + offset) ||
			mprotect(s->at + offset, own->page,
				PROT_READ | PROT_WRITE))
			return false;
		regions_add(s->at + offset,
			s->initial ? s->initial + offset : NULL, own->page);
		return true;
	}
	return false;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	uint32_t rank = sim_rank();
	const char *at = info->si_addr, *stack = sim_stack_of(rank);

	(void)context;
	if (sig == SIGSEGV && on_write(info->si_addr))
		return;
	if (at >= stack && at < stack + own->page)
		fprintf(stderr,
			"weft-sim: process %u needs more than %d bytes of "
			"stack\n",
			rank, SIM_STACK_LEN);
	else
		fprintf(stderr, "weft-sim: process %u ended by signal %d\n",
			rank, sig);
	signal(sig, SIG_DFL); /* the access occurs again */
}

static void catch_writes(void)
{
	struct sigaction action = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};
	stack_t stack = {
		.ss_size = SIM_STACK_LEN,
		.ss_sp = sim_map(SIM_STACK_LEN),
	};

	if (sigaltstack(&stack, NULL) || sigaction(SIGSEGV, &action, NULL) ||
		sigaction(SIGBUS, &action, NULL))
		fail("weft-sim");
	for (size_t i = 0; i < own->n_segments; i++) {
		struct segment *s = &own->segments[i];

		if (s->initial)
			sim_copy(s->initial, s->at, s->len);
		if (mprotect(s->at, s->len, PROT_READ))
			fail("weft-sim: mprotect");
	}
}

/* ---- the memory of the program and the library ---- */

static bool is_own(const char *file)
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
	uintptr_t page = own->page, start = load->p_vaddr & ~(page - 1);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t end = (ph->p_vaddr + ph->p_memsz) & ~(page - 1);

		if (ph->p_type == PT_GNU_RELRO && end > start &&
			ph->p_vaddr < load->p_vaddr + load->p_memsz)
			return end;
	}
	return start;
}

static void segment_add(char *at, size_t len, char *initial)
{
	if (own->n_segments == SEGMENTS)
		too_many("segments of libraries are writable");
	own->segments[own->n_segments++] =
		(struct segment){ .at = at, .len = len, .initial = initial };
}

static char *address_of(const struct dl_phdr_info *info, uintptr_t offset)
{
	return (char *)(info->dlpi_addr + offset); /* NOLINT */
}

static void find_segment(const struct dl_phdr_info *info, const ElfW(Phdr) * ph)
{
	uintptr_t start = end_of_relro(info, ph);
	uintptr_t end =
		(ph->p_vaddr + ph->p_memsz + own->page - 1) & ~(own->page - 1);

	if (start < end)
		segment_add(address_of(info, start), end - start,
			sim_map(end - start));
}

static void add_tls(char *at, size_t len)
{
	char *initial = sim_map(len);

	sim_copy(initial, at, len);
	regions_add(at, initial, len);
}

static int find_memory(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool is_library = *info->dlpi_name;

	(void)size;
	(void)arg;
	if (!is_own(info->dlpi_name))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_TLS && info->dlpi_tls_data)
			add_tls(info->dlpi_tls_data, ph->p_memsz);
		if (ph->p_type != PT_LOAD)
			continue;
		if (ph->p_flags & PF_W)
			find_segment(info, ph);
		else if (ph->p_flags & PF_X && is_library)
			sim_heap_add_caller(
				address_of(info, ph->p_vaddr), ph->p_memsz);
	}
	return 0;
}

static void reserve_stacks(uint32_t n)
{
	if (!SIM_OWN_STACKS)
		n = 1;
	own->stacks = sim_map(n * (size_t)SIM_STACK_LEN);
	for (uint32_t i = 0; i < n; i++)
		if (mprotect(sim_stack_of(i), own->page, PROT_NONE))
			fail("weft-sim: mprotect");
	if (SIM_OWN_STACKS)
		return;
	regions_add(own->stacks + own->page, NULL, SIM_STACK_LEN - own->page);
	own->memory.n_stack = own->memory.n_regions;
}

const struct sim_memory *sim_memory_create(uint32_t n)
{
	struct sim_memory *m;
	size_t len;
	char *heap;

	own = sim_map(sizeof(*own));
	own->page = (size_t)sysconf(_SC_PAGESIZE);
	own->zero = sim_map(SIM_PART);
	m = &own->memory;
	m->regions = sim_map(REGIONS * sizeof(*m->regions));
	m->most_bytes = REGIONS * (size_t)SIM_PART;
	reserve_stacks(n);
	heap = sim_heap_create(&len);
	if (heap)
		segment_add(heap, len, NULL);
	dl_iterate_phdr(find_memory, NULL);
	catch_writes();
	return m;
}
