/* SPDX-License-Identifier: BSD-3-Clause */
/* fortran: what the C side of a Fortran call needs
 *
 * Everything here stands on the public mpi.h, but for attributes. A handle is
 * its integer, a status has the same layout in every language, a logical is an
 * int of 0 or 1, and a derived type of mpi_f08 that holds one integer is that
 * integer. */
#ifndef WEFT_FORTRAN_H
#define WEFT_FORTRAN_H

#include <mpi.h>

#include <ISO_Fortran_binding.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* A second name; tools may define MPI_ names of their own over ours. */
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

/* Variables that mean something by their address (common blocks in Fortran). */
extern int weft_f_bottom_, weft_f_in_place_, weft_f_automatic_;
extern MPI_Fint weft_f_status_[MPI_F_STATUS_SIZE];
extern MPI_Fint weft_f_statuses_[MPI_F_STATUS_SIZE];
extern int weft_f_unweighted_[1], weft_f_no_weights_[1], weft_f_errcodes_[1];
extern char weft_f_argv_[1], weft_f_argvs_[1];

/* The C form of an address; any other stays what it is. */
void *weft_f_buf(const void *buf);
bool weft_f_in_place(const void *buf);
MPI_Status *weft_f_status(const void *status);
int *weft_f_weights(const int *weights);

/* A copy that ends in zero, without the blanks at its end (key: at both ends).
 * NULL without memory; the caller frees it. */
char *weft_f_string(const char *text, size_t len);
char *weft_f_key(const char *text, size_t len);

/* Copies text, cut or filled with blanks to len. */
void weft_f_string_put(char *to, size_t len, const char *text);

/* How many processes an exchange on comm addresses; 0 for a handle that is
 * none, as the call that follows will say so. */
int weft_f_peers(MPI_Fint comm);
int weft_f_indegree(MPI_Fint comm);
int weft_f_outdegree(MPI_Fint comm);

/* n handles out of their integers; room: n empty ones. NULL without memory.
 * back writes n integers and frees, drop only frees; both take NULL. */
MPI_Request *weft_f_request_array(const int *from, int n);
void weft_f_request_array_put(MPI_Request *handles, int *to, int n);
void weft_f_request_array_free(MPI_Request *handles, int *to, int n);
MPI_Datatype *weft_f_type_array(const int *from, int n);
MPI_Datatype *weft_f_type_array_empty(const int *from, int n);
void weft_f_type_array_put(MPI_Datatype *handles, int *to, int n);
void weft_f_type_array_free(MPI_Datatype *handles, int *to, int n);

/* Writes what became of a request; see idup in fortran_hand.c. */
void weft_f_request_put(int *to, MPI_Request request);

/* ---- arrays of mpi_f08 ---- */

enum weft_f_how {
	WEFT_F_IN,	    /* only read, during the call */
	WEFT_F_OUT,	    /* also written, during the call */
	WEFT_F_NONBLOCKING, /* used after the call has returned */
	WEFT_F_ADDRESS,	    /* only its address matters */
};

/* One choice argument during one call. */
struct weft_f_array {
	void *addr;	      /* what the C procedure gets */
	void *copy;	      /* own memory, if the array has gaps */
	CFI_cdesc_t *back;    /* where the copy goes afterwards, or NULL */
	MPI_Datatype section; /* one of it is the data, if the array has gaps
				 and stays; or NULL */
	int section_f;
};

/* A section that is described by a type is one of that. */
extern const int weft_f_one;
extern const MPI_Count weft_f_one_c;

/* Fills *array; an array with gaps is copied together, or refused with
 * MPI_ERR_BUFFER when it is needed after the call, by the error handler of comm
 * (a Fortran handle). Does nothing and passes rc on when that is an error
 * already. array_out must follow in every case. */
int weft_f_array_in(struct weft_f_array *array, CFI_cdesc_t *desc,
	enum weft_f_how how, const char *func, int comm, int rc);

/* The same for one that stays and is `count` items of a type, one for each of
 * its elements: with gaps it gets a type of its own. */
int weft_f_array_in_nonblocking(struct weft_f_array *array, CFI_cdesc_t *desc,
	MPI_Count count, int type, const char *func, int comm, int rc);
void weft_f_array_finish(struct weft_f_array *array);

#endif
