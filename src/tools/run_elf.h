/* SPDX-License-Identifier: BSD-3-Clause */
/* run_elf: is a program linked to another MPI? */
#ifndef WEFT_RUN_ELF_H
#define WEFT_RUN_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* True if the program file needs the library of another MPI and not ours; its
 * name goes to name_out.  What cannot be read, or is no ELF file, needs none.
 */
bool weft_run_elf_other_mpi(const char *file, char *name_out, size_t len);

/* The same of what a running process has loaded, as an interpreter does, or one
 * that a script started. */
bool weft_run_elf_has_loaded(pid_t pid, char *name_out, size_t len);

#endif
