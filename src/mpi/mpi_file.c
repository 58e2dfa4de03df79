/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_file: files as objects: open, close, size, hints and views
 *
 * MPI-5.0, 14.2, 14.3, 14.5 and 14.6. Errors are raised on the file's handler;
 * those of opening and deleting on the handler of MPI_FILE_NULL. */
#include "mpi_check.h"
#include "mpi_widen.h"

#include "base/knob.h"
#include "core/hint.h"
#include "core/info.h"
#include "io/file_hint.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(
	(int)WEFT_FILE_APPEND == MPI_MODE_APPEND &&
		(int)WEFT_FILE_CREATE == MPI_MODE_CREATE &&
		(int)WEFT_FILE_DELETE_ON_CLOSE == MPI_MODE_DELETE_ON_CLOSE &&
		(int)WEFT_FILE_EXCL == MPI_MODE_EXCL &&
		(int)WEFT_FILE_RDONLY == MPI_MODE_RDONLY &&
		(int)WEFT_FILE_RDWR == MPI_MODE_RDWR &&
		(int)WEFT_FILE_SEQUENTIAL == MPI_MODE_SEQUENTIAL &&
		(int)WEFT_FILE_UNIQUE_OPEN == MPI_MODE_UNIQUE_OPEN &&
		(int)WEFT_FILE_WRONLY == MPI_MODE_WRONLY,
	"modes");
_Static_assert(WEFT_FILE_CURRENT == MPI_DISPLACEMENT_CURRENT, "");
_Static_assert((int)WEFT_DATAREP_NAME_MAX == MPI_MAX_DATAREP_STRING, "");

/* ---- hints ---- */

/* Adds hints to an open file. asked may be NULL. If err is not 0, returns it.
 */
static int file_add_hints(
	struct weft_file *fh, const struct weft_info *asked, int err)
{
	struct weft_file_hints hints;

	if (!err && !fh->info && asked) {
		fh->info = weft_info_create();
		err = fh->info ? 0 : WEFT_ERR_NOMEM;
	}
	if (!err && asked)
		err = weft_hint_accept(
			WEFT_HINT_OF_FILE, false, asked, fh->info);
	weft_file_hint_parse(fh->info, &hints);
	return weft_file_set_hints(fh, &hints, err);
}

int PMPI_File_set_info(MPI_File fh, MPI_Info info)
{
	struct weft_file *of = NULL;
	struct weft_info *asked = NULL;
	int err = weft_check_file(fh, &of);

	if (!err) {
		err = weft_check_info_or_null(info, &asked);
		err = file_add_hints(of, asked, err);
	}
	return weft_mpi_end_file(of, "MPI_File_set_info", err);
}

static int mpi_file_get_info(
	const struct weft_file *fh, struct weft_info **info_out)
{
	return weft_file_hint_in_effect(fh, info_out);
}

/* ---- opening and closing ---- */

/* Removes ROMIO's prefix for the kind of file system, for example "ufs:". */
static const char *file_name_of(const char *name)
{
	static const char *const prefixes[] = { "ufs:", "nfs:", "xfs:",
		"lustre:", "gpfs:", "panfs:", "pvfs2:", "daos:", "ime:",
		"quobyte:", "testfs:" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return name;
}

static int file_read_hints(
	MPI_Info info, struct weft_file_config *config, struct weft_info **made)
{
	const char *system = weft_knob_getenv("ROMIO_HINTS");
	struct weft_info *asked = NULL;
	int err = weft_check_info_or_null(info, &asked);

	if (!err && (asked || system)) {
		*made = weft_info_create();
		err = *made ? 0 : WEFT_ERR_NOMEM;
	}
	if (!err && asked)
		err = weft_hint_accept(WEFT_HINT_OF_FILE, true, asked, *made);
	/* hints of the system file replace those of the program, as in ROMIO */
	if (!err && system)
		err = weft_file_hint_read(system, *made);
	weft_file_hint_parse(*made, &config->hints);
	return err;
}

int PMPI_File_open(MPI_Comm comm, const char *filename, int amode,
	MPI_Info info, MPI_File *fh)
{
	struct weft_file_config config = { .amode = amode };
	struct weft_comm *of = NULL;
	struct weft_info *hints = NULL;
	struct weft_file *made = NULL;
	int err;

	weft_mpi_null(fh, MPI_FILE_NULL);
	err = weft_check_intra(comm, &of);
	if (err)
		return weft_mpi_raise_file(NULL, "MPI_File_open", err);
	/* all members return an error of one member's other arguments */
	config.err = weft_check_ptr(filename, "filename");
	if (!config.err)
		config.name = file_name_of(filename);
	if (!config.err)
		config.err = weft_check_ptr(fh, "fh");
	if (!config.err)
		config.err = file_read_hints(info, &config, &hints);
	err = weft_file_open(of, &config, &made);
	if (err) {
		weft_info_destroy(hints);
		return weft_mpi_raise_file(NULL, "MPI_File_open", err);
	}
	made->info = hints;
	*fh = weft_mpi_file_handle(made);
	return MPI_SUCCESS;
}

int PMPI_File_close(MPI_File *fh)
{
	struct weft_file *of = NULL;
	struct weft_errh *errh;
	int err = weft_check_ptr(fh, "fh");

	if (!err)
		err = weft_check_file(*fh, &of);
	if (err)
		return weft_mpi_raise_file(NULL, "MPI_File_close", err);
	errh = weft_errh_get(of->errh);
	err = weft_file_close(of);
	*fh = MPI_FILE_NULL;
	if (err)
		err = weft_mpi_raise_obj(
			WEFT_KIND_FILE, *fh, errh, NULL, "MPI_File_close", err);
	weft_errh_put(errh);
	return err;
}

int PMPI_File_delete(const char *filename, MPI_Info info)
{
	struct weft_info *asked = NULL;
	int err = weft_check_ptr(filename, "filename");

	if (!err)
		err = weft_check_info_or_null(info, &asked);
	if (!err)
		err = weft_file_delete(file_name_of(filename));
	return weft_mpi_end_file(NULL, "MPI_File_delete", err);
}

/* ---- size, group, mode ---- */

static int mpi_file_set_size(struct weft_file *fh, MPI_Offset size)
{
	return weft_file_set_size(fh, size);
}

static int mpi_file_get_size(struct weft_file *fh, MPI_Offset *size)
{
	int64_t bytes = 0;
	int err = weft_file_size(fh, &bytes);

	if (!err)
		*size = bytes;
	return err;
}

static int mpi_file_preallocate(struct weft_file *fh, MPI_Offset size)
{
	return weft_file_preallocate(fh, size);
}

static int mpi_file_get_group(struct weft_file *fh, struct weft_group **group)
{
	return weft_group_dup(fh->comm->group, group);
}

static int mpi_file_get_amode(const struct weft_file *fh, int *amode)
{
	*amode = fh->amode;
	return 0;
}

/* ---- views ---- */

static int file_check_committed(const struct weft_type *type, const char *name)
{
	return type->is_committed ? 0
				  : weft_err_set(WEFT_ERR_TYPE,
					    "%s was not committed", name);
}

static int mpi_file_set_view(int failed, struct weft_file *fh, MPI_Offset disp,
	struct weft_type *etype, struct weft_type *filetype,
	const char *datarep, struct weft_info *info)
{
	struct weft_view_config config = {
		.disp = disp, .etype = etype, .filetype = filetype
	};
	bool has_hints = info != NULL;
	int err = failed;

	if (!err)
		err = file_check_committed(etype, "etype");
	if (!err)
		err = file_check_committed(filetype, "filetype");
	if (!err)
		config.rep = weft_datarep_find(datarep);
	err = weft_file_set_view(fh, &config, err, &has_hints);
	return !err && has_hints ? file_add_hints(fh, info, 0) : err;
}

/* Opens a handle of a derived type, which the program frees. Returns the
 * type. */
static struct weft_type *file_type_out(struct weft_type *type)
{
	if (!type->is_builtin)
		weft_type_open_handle(type);
	return type;
}

static int mpi_file_get_view(struct weft_file *fh, MPI_Offset *disp,
	struct weft_type **etype, struct weft_type **filetype, char *datarep)
{
	struct weft_view *view = weft_file_view(fh);

	*disp = view->disp;
	*etype = file_type_out(view->etype);
	*filetype = file_type_out(view->filetype);
	strcpy(datarep, view->rep->name);
	weft_view_put(view);
	return 0;
}

static int file_whence(int whence, enum weft_file_whence *whence_out)
{
	int err = weft_check_range(
		WEFT_ERR_ARG, "whence", whence, MPI_SEEK_CUR, MPI_SEEK_SET);

	*whence_out = whence == MPI_SEEK_CUR   ? WEFT_FILE_SEEK_CUR
		      : whence == MPI_SEEK_END ? WEFT_FILE_SEEK_END
					       : WEFT_FILE_SEEK_SET;
	return err;
}

static int mpi_file_seek(struct weft_file *fh, MPI_Offset offset, int whence)
{
	enum weft_file_whence from;
	int err = file_whence(whence, &from);

	return err ? err : weft_file_seek(fh, offset, from);
}

static int mpi_file_seek_shared(
	struct weft_file *fh, MPI_Offset offset, int whence)
{
	enum weft_file_whence from;
	int err = file_whence(whence, &from);

	return weft_file_seek_shared(fh, offset, from, err);
}

static int mpi_file_get_position(struct weft_file *fh, MPI_Offset *offset)
{
	int64_t at = 0;
	int err = weft_file_position(fh, &at);

	if (!err)
		*offset = at;
	return err;
}

static int mpi_file_get_position_shared(
	struct weft_file *fh, MPI_Offset *offset)
{
	int64_t at = 0;
	int err = weft_file_position_shared(fh, &at);

	if (!err)
		*offset = at;
	return err;
}

static int mpi_file_get_byte_offset(
	struct weft_file *fh, MPI_Offset offset, MPI_Offset *disp)
{
	int64_t place = 0;
	int err = weft_file_byte_offset(fh, offset, &place);

	if (!err)
		*disp = place;
	return err;
}

static int mpi_file_get_type_extent(
	struct weft_file *fh, struct weft_type *type, MPI_Count *extent)
{
	struct weft_view *view = weft_file_view(fh);
	struct weft_type *layout = NULL;
	int err = weft_datarep_layout(view->rep, type, &layout);

	if (!err)
		*extent = layout->extent;
	weft_type_put(layout);
	weft_view_put(view);
	return err;
}

/* ---- consistency ---- */

static int mpi_file_set_atomicity(struct weft_file *fh, int flag)
{
	return weft_file_set_atomic(fh, flag != 0);
}

static int mpi_file_get_atomicity(struct weft_file *fh, int *flag)
{
	*flag = atomic_load_explicit(&fh->is_atomic, memory_order_relaxed);
	return 0;
}

static int mpi_file_sync(struct weft_file *fh)
{
	return weft_file_sync(fh);
}

/* ---- representations ---- */

static int file_register(struct weft_datarep *rep, const char *name,
	MPI_Datarep_extent_function *extent, void *extra_state)
{
	int err = weft_check_ptr(name, "datarep");

	if (!err && !extent)
		err = weft_err_set(
			WEFT_ERR_ARG, "dtype_file_extent_fn is NULL");
	if (!err && strnlen(name, sizeof(rep->name)) >= sizeof(rep->name))
		err = weft_err_set(WEFT_ERR_ARG,
			"datarep is too long, may have up to %zu characters",
			sizeof(rep->name) - 1);
	if (err)
		return err;
	rep->kind = WEFT_DATAREP_USER;
	strcpy(rep->name, name);
	rep->extent = (weft_datarep_extent_fn *)(uintptr_t)extent;
	rep->extra = extra_state;
	return weft_datarep_register(rep);
}

int PMPI_Register_datarep(const char *datarep,
	MPI_Datarep_conversion_function *read_conversion_fn,
	MPI_Datarep_conversion_function *write_conversion_fn,
	MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
	struct weft_datarep rep = { 0 };

	rep.read = (weft_datarep_move_fn *)(uintptr_t)read_conversion_fn;
	rep.write = (weft_datarep_move_fn *)(uintptr_t)write_conversion_fn;
	return weft_mpi_end_file(NULL, "MPI_Register_datarep",
		file_register(
			&rep, datarep, dtype_file_extent_fn, extra_state));
}

int PMPI_Register_datarep_c(const char *datarep,
	MPI_Datarep_conversion_function_c *read_conversion_fn,
	MPI_Datarep_conversion_function_c *write_conversion_fn,
	MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state)
{
	struct weft_datarep rep = { 0 };

	rep.read_large =
		(weft_datarep_move_large_fn *)(uintptr_t)read_conversion_fn;
	rep.write_large =
		(weft_datarep_move_large_fn *)(uintptr_t)write_conversion_fn;
	return weft_mpi_end_file(NULL, "MPI_Register_datarep_c",
		file_register(
			&rep, datarep, dtype_file_extent_fn, extra_state));
}

#include "api_file.h"
