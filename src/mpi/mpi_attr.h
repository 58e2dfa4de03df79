/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_attr: attributes as Fortran sets and reads them
 *
 * Only libweft_fortran calls these functions. They set and get attributes with
 * integer values, as MPI_Comm_set_attr does with addresses. C reads the address
 * of such an integer (MPI 5.0, 19.3.7). Callbacks of a key that is created here
 * receive the integer itself, converted to a pointer. */
#ifndef WEFT_MPI_ATTR_H
#define WEFT_MPI_ATTR_H

#include <mpi.h>

int weft_f_comm_set_attr(MPI_Comm comm, int keyval, MPI_Aint value);
int weft_f_comm_get_attr(
	MPI_Comm comm, int keyval, MPI_Aint *value_out, int *flag_out);
int weft_f_type_set_attr(MPI_Datatype datatype, int keyval, MPI_Aint value);
int weft_f_type_get_attr(
	MPI_Datatype datatype, int keyval, MPI_Aint *value_out, int *flag_out);
int weft_f_win_set_attr(MPI_Win win, int keyval, MPI_Aint value);
int weft_f_win_get_attr(
	MPI_Win win, int keyval, MPI_Aint *value_out, int *flag_out);

int weft_f_comm_create_keyval(MPI_Comm_copy_attr_function *copy,
	MPI_Comm_delete_attr_function *del, int *keyval_out, void *extra);
int weft_f_type_create_keyval(MPI_Type_copy_attr_function *copy,
	MPI_Type_delete_attr_function *del, int *keyval_out, void *extra);
int weft_f_win_create_keyval(MPI_Win_copy_attr_function *copy,
	MPI_Win_delete_attr_function *del, int *keyval_out, void *extra);

#endif
