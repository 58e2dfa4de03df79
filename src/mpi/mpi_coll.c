/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_coll: blocking collective operations: gather the arguments, call once
 *
 * MPI-5.0 chapter 6. The work is in mpi_collarg.c. */
#include "mpi_collarg.h"

int PMPI_Barrier(MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Barrier",
		.comm = comm,
	};

	return weft_collarg_barrier(&a);
}

int PMPI_Bcast(
	void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Bcast",
		.comm = comm,
		.root = root,
		.recv = { .buf = buffer, .count = count, .type = datatype },
	};

	return weft_collarg_bcast(&a);
}

int PMPI_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root,
	MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Bcast_c",
		.comm = comm,
		.root = root,
		.recv = { .buf = buffer, .count = count, .type = datatype },
	};

	return weft_collarg_bcast(&a);
}

int PMPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
	MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Gather",
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_gather(&a);
}

int PMPI_Gather_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, int root, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Gather_c",
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_gather(&a);
}

int PMPI_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, const int recvcounts[], const int displs[],
	MPI_Datatype recvtype, int root, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Gatherv",
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
	};

	return weft_collarg_gather(&a);
}

int PMPI_Gatherv_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
	const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Gatherv_c",
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
	};

	return weft_collarg_gather(&a);
}

int PMPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
	MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Scatter",
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Scatter_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, int root, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Scatter_c",
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Scatterv(const void *sendbuf, const int sendcounts[],
	const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount,
	MPI_Datatype recvtype, int root, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Scatterv",
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
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Scatterv_c(const void *sendbuf, const MPI_Count sendcounts[],
	const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf,
	MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Scatterv_c",
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
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Allgather",
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_allgather(&a);
}

int PMPI_Allgather_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Allgather_c",
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_allgather(&a);
}

int PMPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, const int recvcounts[], const int displs[],
	MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Allgatherv",
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

	return weft_collarg_allgather(&a);
}

int PMPI_Allgatherv_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
	const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Allgatherv_c",
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

	return weft_collarg_allgather(&a);
}

int PMPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoall",
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_alltoall(&a);
}

int PMPI_Alltoall_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoall_c",
		.comm = comm,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
	};

	return weft_collarg_alltoall(&a);
}

int PMPI_Alltoallv(const void *sendbuf, const int sendcounts[],
	const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
	const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
	MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoallv",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
	const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
	const MPI_Count recvcounts[], const MPI_Aint rdispls[],
	MPI_Datatype recvtype, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoallv_c",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Alltoallw(const void *sendbuf, const int sendcounts[],
	const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
	const int recvcounts[], const int rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoallw",
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
	};

	return weft_collarg_alltoall(&a);
}

int PMPI_Alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[],
	const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
	const MPI_Count recvcounts[], const MPI_Aint rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoallw_c",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Reduce(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce",
		.comm = comm,
		.root = root,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
	};

	return weft_collarg_reduce(&a);
}

int PMPI_Reduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce_c",
		.comm = comm,
		.root = root,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
	};

	return weft_collarg_reduce(&a);
}

int PMPI_Allreduce(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Allreduce",
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
	};

	return weft_collarg_allreduce(&a);
}

int PMPI_Allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Allreduce_c",
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
	};

	return weft_collarg_allreduce(&a);
}

int PMPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce_scatter_block",
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = datatype },
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Reduce_scatter_block_c(const void *sendbuf, void *recvbuf,
	MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce_scatter_block_c",
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = datatype },
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Reduce_scatter(const void *sendbuf, void *recvbuf,
	const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce_scatter",
		.comm = comm,
		.is_irregular = true,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.type = datatype },
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Reduce_scatter_c(const void *sendbuf, void *recvbuf,
	const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op,
	MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce_scatter_c",
		.comm = comm,
		.is_irregular = true,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.type = datatype },
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Scan(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Scan",
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
	};

	return weft_collarg_scan(&a);
}

int PMPI_Scan_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Scan_c",
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
	};

	return weft_collarg_scan(&a);
}

int PMPI_Exscan(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Exscan",
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
	};

	return weft_collarg_exscan(&a);
}

int PMPI_Exscan_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
	const struct weft_collarg a = {
		.func = "MPI_Exscan_c",
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
	};

	return weft_collarg_exscan(&a);
}

#include "api_coll.h"
