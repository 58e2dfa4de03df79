/* SPDX-License-Identifier: BSD-3-Clause */
/* run_elf: finds programs that are linked to another MPI */
#ifndef WEFT_RUN_ELF_H
#define WEFT_RUN_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* True if the program file needs the library of another MPI and not Weft;
 * writes the library's name to name_out. False for a file that cannot be read
 * or is not an ELF file. */
bool weft_run_elf_other_mpi(const char *file, char *name_out, size_t len);

/* True if a running process or a descendant of it has loaded the library of
 * another MPI and not Weft; writes the library's name to name_out. This also
 * detects interpreters, which load a library later, and programs that a script
 * starts. */
bool weft_run_elf_has_loaded(pid_t pid, char *name_out, size_t len);

#endif
