/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_icoll: non-blocking collective operations
 *
 * MPI-5.0 section 6.12. The work is in mpi_collarg.c. */
#include "mpi_collarg.h"

int PMPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ibarrier",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.request = request,
	};

	return weft_collarg_barrier(&a);
}

int PMPI_Ibcast(void *buffer, int count, MPI_Datatype datatype, int root,
	MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ibcast",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.root = root,
		.recv = { .buf = buffer, .count = count, .type = datatype },
		.request = request,
	};

	return weft_collarg_bcast(&a);
}

int PMPI_Ibcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype,
	int root, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ibcast_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.root = root,
		.recv = { .buf = buffer, .count = count, .type = datatype },
		.request = request,
	};

	return weft_collarg_bcast(&a);
}

int PMPI_Igather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
	MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Igather",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_gather(&a);
}

int PMPI_Igather_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Igather_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_gather(&a);
}

int PMPI_Igatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, const int recvcounts[], const int displs[],
	MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Igatherv",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.displs = displs,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_gather(&a);
}

int PMPI_Igatherv_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
	const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Igatherv_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.displs_c = displs,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_gather(&a);
}

int PMPI_Iscatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
	MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iscatter",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Iscatter_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iscatter_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Iscatterv(const void *sendbuf, const int sendcounts[],
	const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount,
	MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iscatterv",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.root = root,
		.send = { .buf = sendbuf,
			.counts = sendcounts,
			.displs = displs,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Iscatterv_c(const void *sendbuf, const MPI_Count sendcounts[],
	const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf,
	MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iscatterv_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.root = root,
		.send = { .buf = sendbuf,
			.counts_c = sendcounts,
			.displs_c = displs,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.request = request,
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Iallgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iallgather",
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

	return weft_collarg_allgather(&a);
}

int PMPI_Iallgather_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iallgather_c",
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

	return weft_collarg_allgather(&a);
}

int PMPI_Iallgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, const int recvcounts[], const int displs[],
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iallgatherv",
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

	return weft_collarg_allgather(&a);
}

int PMPI_Iallgatherv_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
	const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iallgatherv_c",
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

	return weft_collarg_allgather(&a);
}

int PMPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ialltoall",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Ialltoall_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ialltoall_c",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Ialltoallv(const void *sendbuf, const int sendcounts[],
	const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
	const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
	MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ialltoallv",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Ialltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
	const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
	const MPI_Count recvcounts[], const MPI_Aint rdispls[],
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ialltoallv_c",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Ialltoallw(const void *sendbuf, const int sendcounts[],
	const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
	const int recvcounts[], const int rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ialltoallw",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.send = { .buf = sendbuf,
			.counts = sendcounts,
			.displs = sdispls,
			.types = sendtypes },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.displs = rdispls,
			.types = recvtypes },
		.request = request,
	};

	return weft_collarg_alltoall(&a);
}

int PMPI_Ialltoallw_c(const void *sendbuf, const MPI_Count sendcounts[],
	const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
	const MPI_Count recvcounts[], const MPI_Aint rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ialltoallw_c",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Ireduce(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ireduce",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.root = root,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.request = request,
	};

	return weft_collarg_reduce(&a);
}

int PMPI_Ireduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ireduce_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.root = root,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.request = request,
	};

	return weft_collarg_reduce(&a);
}

int PMPI_Iallreduce(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iallreduce",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.request = request,
	};

	return weft_collarg_allreduce(&a);
}

int PMPI_Iallreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iallreduce_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.request = request,
	};

	return weft_collarg_allreduce(&a);
}

int PMPI_Ireduce_scatter_block(const void *sendbuf, void *recvbuf,
	int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ireduce_scatter_block",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = datatype },
		.request = request,
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Ireduce_scatter_block_c(const void *sendbuf, void *recvbuf,
	MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ireduce_scatter_block_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = datatype },
		.request = request,
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Ireduce_scatter(const void *sendbuf, void *recvbuf,
	const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ireduce_scatter",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.type = datatype },
		.request = request,
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Ireduce_scatter_c(const void *sendbuf, void *recvbuf,
	const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op,
	MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Ireduce_scatter_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.is_irregular = true,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.type = datatype },
		.request = request,
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Iscan(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iscan",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.request = request,
	};

	return weft_collarg_scan(&a);
}

int PMPI_Iscan_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iscan_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.request = request,
	};

	return weft_collarg_scan(&a);
}

int PMPI_Iexscan(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iexscan",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.request = request,
	};

	return weft_collarg_exscan(&a);
}

int PMPI_Iexscan_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Iexscan_c",
		.mode = WEFT_COLLARG_START,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.request = request,
	};

	return weft_collarg_exscan(&a);
}

#include "api_icoll.h"
