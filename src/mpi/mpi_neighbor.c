/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_neighbor: neighbourhood collective operations
 *
 * MPI-5.0 sections 8.6 to 8.9: blocking, non-blocking and persistent. The work
 * is in mpi_collarg.c. */
#include "mpi_collarg.h"

int PMPI_Neighbor_allgather(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, int recvcount,
	MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_allgather",
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Neighbor_allgather_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_allgather_c",
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Neighbor_allgatherv(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
	const int displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_allgatherv",
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.displs = displs,
			.type = recvtype },
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Neighbor_allgatherv_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
	const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_allgatherv_c",
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.displs_c = displs,
			.type = recvtype },
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Neighbor_alltoall(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, int recvcount,
	MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoall",
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Neighbor_alltoall_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoall_c",
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Neighbor_alltoallv(const void *sendbuf, const int sendcounts[],
	const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
	const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
	MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoallv",
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts = sendcounts,
			.displs = sdispls,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.displs = rdispls,
			.type = recvtype },
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Neighbor_alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
	const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
	const MPI_Count recvcounts[], const MPI_Aint rdispls[],
	MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoallv_c",
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts_c = sendcounts,
			.displs_c = sdispls,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.displs_c = rdispls,
			.type = recvtype },
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Neighbor_alltoallw(const void *sendbuf, const int sendcounts[],
	const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
	const int recvcounts[], const MPI_Aint rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoallw",
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts = sendcounts,
			.displs_c = sdispls,
			.types = sendtypes },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.displs_c = rdispls,
			.types = recvtypes },
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Neighbor_alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[],
	const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
	const MPI_Count recvcounts[], const MPI_Aint rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoallw_c",
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts_c = sendcounts,
			.displs_c = sdispls,
			.types = sendtypes },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.displs_c = rdispls,
			.types = recvtypes },
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Ineighbor_allgather(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, int recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ineighbor_allgather",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Ineighbor_allgather_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ineighbor_allgather_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Ineighbor_allgatherv(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
	const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ineighbor_allgatherv",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.displs = displs,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Ineighbor_allgatherv_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
	const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ineighbor_allgatherv_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.displs_c = displs,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Ineighbor_alltoall(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, int recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ineighbor_alltoall",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Ineighbor_alltoall_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ineighbor_alltoall_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Ineighbor_alltoallv(const void *sendbuf, const int sendcounts[],
	const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
	const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
	MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ineighbor_alltoallv",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts = sendcounts,
			.displs = sdispls,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.displs = rdispls,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Ineighbor_alltoallv_c(const void *sendbuf,
	const MPI_Count sendcounts[], const MPI_Aint sdispls[],
	MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
	const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ineighbor_alltoallv_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts_c = sendcounts,
			.displs_c = sdispls,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.displs_c = rdispls,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Ineighbor_alltoallw(const void *sendbuf, const int sendcounts[],
	const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
	const int recvcounts[], const MPI_Aint rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ineighbor_alltoallw",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts = sendcounts,
			.displs_c = sdispls,
			.types = sendtypes },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.displs_c = rdispls,
			.types = recvtypes },
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Ineighbor_alltoallw_c(const void *sendbuf,
	const MPI_Count sendcounts[], const MPI_Aint sdispls[],
	const MPI_Datatype sendtypes[], void *recvbuf,
	const MPI_Count recvcounts[], const MPI_Aint rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ineighbor_alltoallw_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts_c = sendcounts,
			.displs_c = sdispls,
			.types = sendtypes },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.displs_c = rdispls,
			.types = recvtypes },
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Neighbor_allgather_init(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, int recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_allgather_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Neighbor_allgather_init_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_allgather_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Neighbor_allgatherv_init(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
	const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_allgatherv_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.displs = displs,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Neighbor_allgatherv_init_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
	const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_allgatherv_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.displs_c = displs,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_neighbor_allgather(&a);
}

int PMPI_Neighbor_alltoall_init(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, int recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoall_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Neighbor_alltoall_init_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoall_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Neighbor_alltoallv_init(const void *sendbuf, const int sendcounts[],
	const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
	const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
	MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoallv_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts = sendcounts,
			.displs = sdispls,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.displs = rdispls,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Neighbor_alltoallv_init_c(const void *sendbuf,
	const MPI_Count sendcounts[], const MPI_Aint sdispls[],
	MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
	const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoallv_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts_c = sendcounts,
			.displs_c = sdispls,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.displs_c = rdispls,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Neighbor_alltoallw_init(const void *sendbuf, const int sendcounts[],
	const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
	const int recvcounts[], const MPI_Aint rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoallw_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts = sendcounts,
			.displs_c = sdispls,
			.types = sendtypes },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.displs_c = rdispls,
			.types = recvtypes },
		.info = info,
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

int PMPI_Neighbor_alltoallw_init_c(const void *sendbuf,
	const MPI_Count sendcounts[], const MPI_Aint sdispls[],
	const MPI_Datatype sendtypes[], void *recvbuf,
	const MPI_Count recvcounts[], const MPI_Aint rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Neighbor_alltoallw_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts_c = sendcounts,
			.displs_c = sdispls,
			.types = sendtypes },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.displs_c = rdispls,
			.types = recvtypes },
		.info = info,
		.request = request,
	};

	return weft_collarg_neighbor_alltoall(&a);
}

#include "api_neighbor.h"
