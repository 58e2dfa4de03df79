/* SPDX-License-Identifier: BSD-3-Clause */
/* fortran: the C side of the Fortran bindings
 *
 * The bindings use the public mpi.h only, except for attributes. A Fortran
 * handle is an integer, a status has the same layout in all languages, a
 * logical is an int of 0 or 1, and a derived type of mpi_f08 with one integer
 * is represented by that integer. */
#ifndef WEFT_FORTRAN_H
#define WEFT_FORTRAN_H

#include <mpi.h>
#include <mpix.h>

#include <ISO_Fortran_binding.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* A weak second name, so that profiling tools can define MPI_ names. */
#define WEFT_F_ALIAS(name, of) \
	extern __typeof__(of) name __attribute__((weak, alias(#of)));

/* A procedure argument, whatever its interface. */
typedef void weft_f_fn(void);

/* Stores the return code of the C procedure; mpi_f08 may omit ierror. */
static inline void weft_f_return(int *ierror, int rc)
{
	if (ierror)
		*ierror = rc;
}

/* Constants that are known by their address (common blocks in Fortran). */
extern int weft_f_bottom_, weft_f_in_place_, weft_f_automatic_;
extern MPI_Fint weft_f_status_[MPI_F_STATUS_SIZE];
extern MPI_Fint weft_f_statuses_[MPI_F_STATUS_SIZE];
extern int weft_f_unweighted_[1], weft_f_no_weights_[1], weft_f_errcodes_[1];
extern char weft_f_argv_[1], weft_f_argvs_[1];

/* weft_f_buf(), weft_f_status() and weft_f_weights() convert the address of a
 * Fortran constant to the C constant, and return any other address unchanged.
 * weft_f_in_place() is true for the address of MPI_IN_PLACE. */
void *weft_f_buf(const void *buf);
bool weft_f_in_place(const void *buf);
MPI_Status *weft_f_status(const void *status);
int *weft_f_weights(const int *weights);

/* Both functions create a C string without trailing blanks; weft_f_key() also
 * removes leading blanks. The caller frees the string. NULL if out of memory.
 */
char *weft_f_string(const char *text, size_t len);
char *weft_f_key(const char *text, size_t len);

/* Copies text, truncated or filled with blanks to len. */
void weft_f_string_put(char *to, size_t len, const char *text);

/* weft_f_peers() returns the number of processes that a collective on comm
 * addresses. weft_f_indegree() and weft_f_outdegree() return the numbers of
 * neighbors in its topology. 0 for an invalid handle, which the C procedure
 * then reports. */
int weft_f_peers(MPI_Fint comm);
int weft_f_indegree(MPI_Fint comm);
int weft_f_outdegree(MPI_Fint comm);

/* weft_f_request_array() and weft_f_type_array() create an array of n C handles
 * from Fortran handles. weft_f_type_array_empty() creates an array to be
 * filled. NULL if out of memory. The two functions that end in _put store n
 * Fortran handles in `to`, and free the array. The two functions that end in
 * _free only free the array. All four accept NULL. */
MPI_Request *weft_f_request_array(const int *from, int n);
void weft_f_request_array_put(MPI_Request *handles, int *to, int n);
void weft_f_request_array_free(MPI_Request *handles, int *to, int n);
MPI_Datatype *weft_f_type_array(const int *from, int n);
MPI_Datatype *weft_f_type_array_empty(const int *from, int n);
void weft_f_type_array_put(MPI_Datatype *handles, int *to, int n);
void weft_f_type_array_free(MPI_Datatype *handles, int *to, int n);

/* Stores a request after a call, and stores the result of MPI_Comm_idup and
 * the like if the call ended its request; see struct pending in
 * fortran_hand.c. */
void weft_f_request_put(int *to, MPI_Request request);

/* ---- arrays of mpi_f08 ---- */

enum weft_f_how {
	WEFT_F_IN,	    /* read during the call */
	WEFT_F_OUT,	    /* read or written during the call */
	WEFT_F_NONBLOCKING, /* used after the call has returned */
	WEFT_F_ADDRESS,	    /* only its address matters */
};

/* A choice argument during a call. */
struct weft_f_array {
	void *addr;	   /* address for the C procedure */
	void *copy;	   /* contiguous copy of an array with gaps */
	CFI_cdesc_t *back; /* array to update from the copy after the call, or
			      NULL */
	MPI_Datatype section; /* type of the whole section, for a nonblocking
				 call with gaps; or NULL */
	int section_f;
};

/* The count 1, for a section that one datatype describes. */
extern const int weft_f_one;
extern const MPI_Count weft_f_one_c;

/* Fills *array. An array with gaps is copied. If such an array is used after
 * the call, the function fails with MPI_ERR_BUFFER through the error handler of
 * comm (a Fortran handle). If rc is an error, the function only returns it.
 * weft_f_array_finish() must follow in all cases. */
int weft_f_array_in(struct weft_f_array *array, CFI_cdesc_t *desc,
	enum weft_f_how how, const char *func, int comm, int rc);

/* As weft_f_array_in(), for an array that is used after the call and has
 * `count` items of a type, one for each element. If the array has gaps, the
 * function creates a type of the section. */
int weft_f_array_in_nonblocking(struct weft_f_array *array, CFI_cdesc_t *desc,
	MPI_Count count, int type, const char *func, int comm, int rc);
void weft_f_array_finish(struct weft_f_array *array);

#endif
