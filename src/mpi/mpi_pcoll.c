/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_pcoll: persistent collective operations
 *
 * MPI-5.0 section 6.13. The work is in mpi_collarg.c. */
#include "mpi_collarg.h"

int PMPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Barrier_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.info = info,
		.request = request,
	};

	return weft_collarg_barrier(&a);
}

int PMPI_Bcast_init(void *buffer, int count, MPI_Datatype datatype, int root,
	MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Bcast_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.root = root,
		.recv = { .buf = buffer, .count = count, .type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_bcast(&a);
}

int PMPI_Bcast_init_c(void *buffer, MPI_Count count, MPI_Datatype datatype,
	int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Bcast_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.root = root,
		.recv = { .buf = buffer, .count = count, .type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_bcast(&a);
}

int PMPI_Gather_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
	MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Gather_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_gather(&a);
}

int PMPI_Gather_init_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Gather_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_gather(&a);
}

int PMPI_Gatherv_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, const int recvcounts[], const int displs[],
	MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Gatherv_init",
		.mode = WEFT_COLLARG_INIT,
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
		.info = info,
		.request = request,
	};

	return weft_collarg_gather(&a);
}

int PMPI_Gatherv_init_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
	const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm,
	MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Gatherv_init_c",
		.mode = WEFT_COLLARG_INIT,
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
		.info = info,
		.request = request,
	};

	return weft_collarg_gather(&a);
}

int PMPI_Scatter_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
	void *recvbuf, int recvcount, MPI_Datatype recvtype, int root,
	MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Scatter_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Scatter_init_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Scatter_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.root = root,
		.send = { .buf = sendbuf,
			.count = sendcount,
			.type = sendtype },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = recvtype },
		.info = info,
		.request = request,
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Scatterv_init(const void *sendbuf, const int sendcounts[],
	const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount,
	MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Scatterv_init",
		.mode = WEFT_COLLARG_INIT,
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
		.info = info,
		.request = request,
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Scatterv_init_c(const void *sendbuf, const MPI_Count sendcounts[],
	const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf,
	MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
	MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Scatterv_init_c",
		.mode = WEFT_COLLARG_INIT,
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
		.info = info,
		.request = request,
	};

	return weft_collarg_scatter(&a);
}

int PMPI_Allgather_init(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, int recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Allgather_init",
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

	return weft_collarg_allgather(&a);
}

int PMPI_Allgather_init_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Allgather_init_c",
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

	return weft_collarg_allgather(&a);
}

int PMPI_Allgatherv_init(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
	const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Allgatherv_init",
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

	return weft_collarg_allgather(&a);
}

int PMPI_Allgatherv_init_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
	const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Allgatherv_init_c",
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

	return weft_collarg_allgather(&a);
}

int PMPI_Alltoall_init(const void *sendbuf, int sendcount,
	MPI_Datatype sendtype, void *recvbuf, int recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoall_init",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Alltoall_init_c(const void *sendbuf, MPI_Count sendcount,
	MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoall_init_c",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Alltoallv_init(const void *sendbuf, const int sendcounts[],
	const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
	const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
	MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoallv_init",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Alltoallv_init_c(const void *sendbuf, const MPI_Count sendcounts[],
	const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
	const MPI_Count recvcounts[], const MPI_Aint rdispls[],
	MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoallv_init_c",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Alltoallw_init(const void *sendbuf, const int sendcounts[],
	const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
	const int recvcounts[], const int rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoallw_init",
		.mode = WEFT_COLLARG_INIT,
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
		.info = info,
		.request = request,
	};

	return weft_collarg_alltoall(&a);
}

int PMPI_Alltoallw_init_c(const void *sendbuf, const MPI_Count sendcounts[],
	const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
	const MPI_Count recvcounts[], const MPI_Aint rdispls[],
	const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Alltoallw_init_c",
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

	return weft_collarg_alltoall(&a);
}

int PMPI_Reduce_init(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
	MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.root = root,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_reduce(&a);
}

int PMPI_Reduce_init_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
	MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.root = root,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_reduce(&a);
}

int PMPI_Allreduce_init(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Allreduce_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_allreduce(&a);
}

int PMPI_Allreduce_init_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Allreduce_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_allreduce(&a);
}

int PMPI_Reduce_scatter_block_init(const void *sendbuf, void *recvbuf,
	int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
	MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce_scatter_block_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Reduce_scatter_block_init_c(const void *sendbuf, void *recvbuf,
	MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
	MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce_scatter_block_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.count = recvcount,
			.type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Reduce_scatter_init(const void *sendbuf, void *recvbuf,
	const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
	MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce_scatter_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.is_irregular = true,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.counts = recvcounts,
			.type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Reduce_scatter_init_c(const void *sendbuf, void *recvbuf,
	const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op,
	MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Reduce_scatter_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.is_irregular = true,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf,
			.counts_c = recvcounts,
			.type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_reduce_scatter(&a);
}

int PMPI_Scan_init(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Scan_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_scan(&a);
}

int PMPI_Scan_init_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Scan_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_scan(&a);
}

int PMPI_Exscan_init(const void *sendbuf, void *recvbuf, int count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Exscan_init",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_exscan(&a);
}

int PMPI_Exscan_init_c(const void *sendbuf, void *recvbuf, MPI_Count count,
	MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
	MPI_Request *request)
{
	const struct weft_collarg a = {
		.func = "MPI_Exscan_init_c",
		.mode = WEFT_COLLARG_INIT,
		.comm = comm,
		.op = op,
		.send = { .buf = sendbuf },
		.recv = { .buf = recvbuf, .count = count, .type = datatype },
		.info = info,
		.request = request,
	};

	return weft_collarg_exscan(&a);
}

#include "api_pcoll.h"
