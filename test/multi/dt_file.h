/* SPDX-License-Identifier: BSD-3-Clause */
/* dt_file: a file with the types of a seed, through views with a filetype */
#ifndef TEST_DT_FILE_H
#define TEST_DT_FILE_H

#include "dt_case.h"
#include "file.h"

static MPI_File file;

/* True if the type can be a filetype: its displacements increase, and it has at
 * least one byte. */
static bool is_filetype(const struct map *m)
{
	if (!m->n || m->e[0].at < 0)
		return false;
	for (int i = 1; i < m->n; i++)
		if (m->e[i].at <= m->e[i - 1].at)
			return false;
	return m->e[0].at + map_extent(m) > m->e[m->n - 1].at;
}

static struct node *make_filetype(void)
{
	const struct dt_rules was = dt_rules;
	struct node *node = NULL;

	dt_rules = (struct dt_rules){ BASIC_BYTE, 1, true };
	for (int i = 0; i < 20 && !(node && is_filetype(&node->map)); i++) {
		if (node)
			node_free(node);
		node = node_make(DEPTH_MAX);
	}
	if (!is_filetype(&node->map)) {
		node_free(node);
		node = node_basic(BASIC_BYTE);
	}
	dt_rules = was;
	OK(MPI_Type_commit(&node->type));
	return node;
}

static void file_write(const struct area *from, MPI_Offset at)
{
	MPI_Request req = MPI_REQUEST_NULL;
	int n = now.n_from, how = draw(6);
	MPI_Datatype type = now.from->type;

	if (how == 0)
		OK(MPI_File_write_at(
			file, at, from->at, n, type, MPI_STATUS_IGNORE));
	if (how == 1)
		OK(MPI_File_write_at_all(
			file, at, from->at, n, type, MPI_STATUS_IGNORE));
	if (how == 2)
		OK(MPI_File_iwrite_at(file, at, from->at, n, type, &req));
	if (how == 3)
		OK(MPI_File_iwrite_at_all(file, at, from->at, n, type, &req));
	if (how > 3)
		OK(MPI_File_seek(file, at, MPI_SEEK_SET));
	if (how == 4)
		OK(MPI_File_write(file, from->at, n, type, MPI_STATUS_IGNORE));
	if (how == 5) {
		OK(MPI_File_write_all_begin(file, from->at, n, type));
		OK(MPI_File_write_all_end(file, from->at, MPI_STATUS_IGNORE));
	}
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

static void file_read(const struct area *to, MPI_Offset at)
{
	MPI_Request req = MPI_REQUEST_NULL;
	MPI_Datatype type = now.to->type;
	int n = now.n_to, how = draw(6);
	MPI_Status status;

	if (how == 0)
		OK(MPI_File_read_at(file, at, to->at, n, type, &status));
	if (how == 1)
		OK(MPI_File_read_at_all(file, at, to->at, n, type, &status));
	if (how == 2)
		OK(MPI_File_iread_at(file, at, to->at, n, type, &req));
	if (how == 3)
		OK(MPI_File_iread_at_all(file, at, to->at, n, type, &req));
	if (how > 3)
		OK(MPI_File_seek(file, at, MPI_SEEK_SET));
	if (how == 4)
		OK(MPI_File_read_all(file, to->at, n, type, &status));
	if (how == 5) {
		OK(MPI_File_read_all_begin(file, to->at, n, type));
		OK(MPI_File_read_all_end(file, to->at, &status));
	}
	if (how == 2 || how == 3)
		OK(MPI_Wait(&req, &status));
	check_status(&status);
}

static void view_bytes(void)
{
	OK(MPI_File_set_view(file, (MPI_Offset)mtest.rank * MEMORY, MPI_BYTE,
		MPI_BYTE, "native", MPI_INFO_NULL));
}

static void through_view(const struct node *tile, MPI_Offset at, int len)
{
	char *raw = mtest_alloc((size_t)len), *want = mtest_alloc((size_t)len);
	struct area from = to_send(), to = to_receive();
	char *stream = sent_by(mtest.rank);

	fill(want, (size_t)len, tag_of(mtest.rank, WINDOW));
	view_bytes();
	OK(MPI_File_write_at_all(
		file, 0, want, len, MPI_BYTE, MPI_STATUS_IGNORE));
	for (size_t i = 0; i < now.len; i++) {
		long k = (long)at + (long)i;

		want[k / tile->map.n * map_extent(&tile->map) +
			tile->map.e[k % tile->map.n].at] = stream[i];
	}
	free(stream);
	OK(MPI_File_set_view(file, (MPI_Offset)mtest.rank * MEMORY, MPI_BYTE,
		tile->type, one_of(2) ? "native" : "external32",
		MPI_INFO_NULL));
	file_write(&from, at);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	file_read(&to, at);
	expect_from(&to, mtest.rank);
	view_bytes();
	OK(MPI_File_read_at_all(
		file, 0, raw, len, MPI_BYTE, MPI_STATUS_IGNORE));
	compare(raw, want, (size_t)len);
	free(raw);
	free(want);
	expect_sent(&from, &now.from->map, now.n_from);
}

static void op_file(void)
{
	struct node *tile;
	MPI_Offset at;
	MPI_Aint len;

	if (map_basic(&now.to->map) != BASIC_BYTE)
		return;
	tile = make_filetype();
	at = draw(2 * tile->map.n);
	len = ((at + (MPI_Offset)now.len) / tile->map.n + 1) *
		      map_extent(&tile->map) +
	      BOUND_MAX;
	if (len <= MEMORY)
		through_view(tile, at, (int)len);
	node_free(tile);
}

#endif
