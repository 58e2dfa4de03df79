/* SPDX-License-Identifier: BSD-3-Clause */
/* run_elf: finds programs that are linked to another MPI */
#include "tools/run_elf.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SCRIPTS_MAX = 3
}; /* levels of descendants that are searched: nested
      scripts, and the program */

/* A file that is mapped to memory. */
struct image {
	const unsigned char *data;
	uint64_t len;
};

/* Returns len bytes at offset, or NULL if the file is too short. */
static const void *at(const struct image *image, uint64_t offset, uint64_t len)
{
	return offset <= image->len && len <= image->len - offset
		       ? image->data + offset
		       : NULL;
}

static const Elf64_Phdr *header(const struct image *image, unsigned i)
{
	const Elf64_Ehdr *elf = at(image, 0, sizeof(*elf));

	if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) ||
		elf->e_ident[EI_CLASS] != ELFCLASS64 || i >= elf->e_phnum ||
		elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff % 8)
		return NULL;
	return at(image, elf->e_phoff + i * sizeof(Elf64_Phdr),
		sizeof(Elf64_Phdr));
}

/* Returns the offset in the file of the data that the running program has at
 * this address; UINT64_MAX if the file does not contain it. */
static uint64_t offset_of(const struct image *image, uint64_t address)
{
	const Elf64_Phdr *h;

	for (unsigned i = 0; (h = header(image, i)) != NULL; i++)
		if (h->p_type == PT_LOAD && address >= h->p_vaddr &&
			address - h->p_vaddr < h->p_filesz)
			return address - h->p_vaddr + h->p_offset;
	return UINT64_MAX;
}

static bool run_elf_is_weft(const char *name)
{
	return !strncmp(name, "libmpi_abi.so", 13);
}

static bool run_elf_is_other_mpi(const char *name)
{
	static const char *const others[] = { "libmpi.so", "libmpich.so",
		"libmpichfort.so", "libmpichcxx.so", "libmpifort.so",
		"libmpicxx.so", "libmpi_cxx.so", "libmpi_mpifh.so",
		"libmpi_usempif08.so", "liboshmem.so" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return true;
	return false;
}

/* Returns the i-th entry of the dynamic section, or NULL. */
static const Elf64_Dyn *entry(
	const struct image *image, const Elf64_Phdr *table, uint64_t i)
{
	const Elf64_Dyn *dyn = NULL;

	if (i < table->p_filesz / sizeof(*dyn) && table->p_offset % 8 == 0)
		dyn = at(image, table->p_offset + i * sizeof(*dyn),
			sizeof(*dyn));
	return dyn && dyn->d_tag != DT_NULL ? dyn : NULL;
}

/* Copies the string at offset, cut off at len - 1 bytes. offset is within the
 * file. */
static void run_elf_copy_name(
	const struct image *image, uint64_t offset, char *name, size_t len)
{
	uint64_t left = image->len - offset;

	memset(name, 0, len);
	strncpy(name, (const char *)image->data + offset,
		left < len - 1 ? left : len - 1);
}

static bool run_elf_search(const struct image *image, const Elf64_Phdr *table,
	char *name_out, size_t len)
{
	uint64_t strings = UINT64_MAX;
	bool found = false;
	const Elf64_Dyn *dyn;

	for (uint64_t i = 0; (dyn = entry(image, table, i)) != NULL; i++)
		if (dyn->d_tag == DT_STRTAB)
			strings = offset_of(image, dyn->d_un.d_ptr);
	if (strings >= image->len)
		return false;
	for (uint64_t i = 0; (dyn = entry(image, table, i)) != NULL; i++) {
		char name[64];

		if (dyn->d_tag != DT_NEEDED ||
			dyn->d_un.d_val >= image->len - strings)
			continue;
		run_elf_copy_name(
			image, strings + dyn->d_un.d_val, name, sizeof(name));
		if (run_elf_is_weft(name))
			return false;
		if (!found && run_elf_is_other_mpi(name))
			snprintf(name_out, len, "%s", name);
		found |= run_elf_is_other_mpi(name);
	}
	return found;
}

bool weft_run_elf_other_mpi(const char *file, char *name_out, size_t len)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	void *data = MAP_FAILED;
	const Elf64_Phdr *h;
	struct image image;
	struct stat st;
	bool found = false;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
			fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return false;
	image = (struct image){ data, (uint64_t)st.st_size };
	for (unsigned i = 0; (h = header(&image, i)) != NULL; i++)
		if (h->p_type == PT_DYNAMIC)
			found = run_elf_search(&image, h, name_out, len);
	munmap(data, (size_t)st.st_size);
	return found;
}

static bool run_elf_maps(pid_t pid, char *name_out, size_t len)
{
	char path[64], line[4352];
	bool found = false, has_weft = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *name = strrchr(line, '/');

		if (!name++)
			continue;
		has_weft |= run_elf_is_weft(name);
		if (found || !run_elf_is_other_mpi(name))
			continue;
		found = true;
		snprintf(
			name_out, len, "%.*s", (int)strcspn(name, " \n"), name);
	}
	if (file)
		fclose(file);
	return found && !has_weft;
}

static bool run_elf_children_map(
	pid_t pid, char *name_out, size_t len, int depth)
{
	char path[64];
	bool found = false;
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
		(int)pid);
	file = depth ? fopen(path, "re") : NULL;
	while (file && !found && fscanf(file, "%d", &child) == 1)
		found = run_elf_maps(child, name_out, len) ||
			run_elf_children_map(child, name_out, len, depth - 1);
	if (file)
		fclose(file);
	return found;
}

bool weft_run_elf_has_loaded(pid_t pid, char *name_out, size_t len)
{
	return run_elf_maps(pid, name_out, len) ||
	       run_elf_children_map(pid, name_out, len, SCRIPTS_MAX);
}
