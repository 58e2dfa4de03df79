/* SPDX-License-Identifier: BSD-3-Clause */
/* fortran_convert: addresses, strings and arrays of handles */
#include "fortran.h"

#include <string.h>

/* aligned as Fortran aligns common blocks */
_Alignas(32) int weft_f_bottom_;
_Alignas(32) int weft_f_in_place_;
_Alignas(32) int weft_f_automatic_;
_Alignas(32) MPI_Fint weft_f_status_[MPI_F_STATUS_SIZE];
_Alignas(32) MPI_Fint weft_f_statuses_[MPI_F_STATUS_SIZE];
_Alignas(32) int weft_f_unweighted_[1];
_Alignas(32) int weft_f_no_weights_[1];
_Alignas(32) int weft_f_errcodes_[1];
_Alignas(32) char weft_f_argv_[1];
_Alignas(32) char weft_f_argvs_[1];

void *weft_f_buf(const void *buf)
{
	if (buf == &weft_f_bottom_)
		return MPI_BOTTOM;
	if (buf == &weft_f_in_place_)
		return MPI_IN_PLACE;
	if (buf == &weft_f_automatic_)
		return MPI_BUFFER_AUTOMATIC;
	return (void *)buf;
}

bool weft_f_in_place(const void *buf)
{
	return buf == &weft_f_in_place_;
}

MPI_Status *weft_f_status(const void *status)
{
	if (status == weft_f_status_ || status == weft_f_statuses_)
		return MPI_STATUS_IGNORE;
	return (MPI_Status *)status;
}

int *weft_f_weights(const int *weights)
{
	if (weights == weft_f_unweighted_)
		return MPI_UNWEIGHTED;
	if (weights == weft_f_no_weights_)
		return MPI_WEIGHTS_EMPTY;
	return (int *)weights;
}

char *weft_f_string(const char *text, size_t len)
{
	char *copy;

	while (len && text[len - 1] == ' ')
		len--;
	copy = malloc(len + 1);
	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	return copy;
}

char *weft_f_key(const char *text, size_t len)
{
	for (; len && *text == ' '; len--)
		text++;
	return weft_f_string(text, len);
}

void weft_f_string_put(char *to, size_t len, const char *text)
{
	size_t n = strnlen(text, len);

	memcpy(to, text, n);
	memset(to + n, ' ', len - n);
}

/* ---- numbers of processes ---- */

int weft_f_peers(MPI_Fint comm)
{
	MPI_Comm c = PMPI_Comm_fromint(comm);
	int inter = 0, n = 0;

	if (PMPI_Comm_test_inter(c, &inter) != MPI_SUCCESS)
		return 0;
	if (inter)
		PMPI_Comm_remote_size(c, &n);
	else
		PMPI_Comm_size(c, &n);
	return n;
}

/* Writes the numbers of neighbors in the topology of comm. */
static void degrees(MPI_Fint comm, int *in, int *out)
{
	MPI_Comm c = PMPI_Comm_fromint(comm);
	int kind = MPI_UNDEFINED, n = 0, weighted;

	*in = *out = 0;
	if (PMPI_Topo_test(c, &kind) != MPI_SUCCESS)
		return;
	if (kind == MPI_DIST_GRAPH) {
		PMPI_Dist_graph_neighbors_count(c, in, out, &weighted);
	} else if (kind == MPI_CART) {
		PMPI_Cartdim_get(c, &n);
		*in = *out = 2 * n;
	} else if (kind == MPI_GRAPH) {
		PMPI_Comm_rank(c, &n);
		PMPI_Graph_neighbors_count(c, n, in);
		*out = *in;
	}
}

int weft_f_indegree(MPI_Fint comm)
{
	int in, out;

	degrees(comm, &in, &out);
	return in;
}

int weft_f_outdegree(MPI_Fint comm)
{
	int in, out;

	degrees(comm, &in, &out);
	return out;
}

/* ---- arrays of handles ---- */

static void *handle_array(int n)
{
	return calloc(n > 0 ? (size_t)n : 1, sizeof(void *));
}

MPI_Request *weft_f_request_array(const int *from, int n)
{
	MPI_Request *handles = handle_array(n);

	for (int i = 0; handles && i < n; i++)
		handles[i] = PMPI_Request_fromint(from[i]);
	return handles;
}

void weft_f_request_array_put(MPI_Request *handles, int *to, int n)
{
	for (int i = 0; handles && i < n; i++)
		weft_f_request_put(&to[i], handles[i]);
	free(handles);
}

void weft_f_request_array_free(MPI_Request *handles, int *to, int n)
{
	(void)to;
	(void)n;
	free(handles);
}

MPI_Datatype *weft_f_type_array(const int *from, int n)
{
	MPI_Datatype *handles = handle_array(n);

	for (int i = 0; handles && i < n; i++)
		handles[i] = PMPI_Type_fromint(from[i]);
	return handles;
}

MPI_Datatype *weft_f_type_array_empty(const int *from, int n)
{
	(void)from;
	return handle_array(n);
}

void weft_f_type_array_put(MPI_Datatype *handles, int *to, int n)
{
	/* the C procedure may have set fewer handles */
	for (int i = 0; handles && i < n; i++)
		if (handles[i])
			to[i] = PMPI_Type_toint(handles[i]);
	free(handles);
}

void weft_f_type_array_free(MPI_Datatype *handles, int *to, int n)
{
	(void)to;
	(void)n;
	free(handles);
}
