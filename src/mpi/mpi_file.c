/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_file: files as objects: opened, closed, sized, their hints and views
 *
 * MPI-5.0, 14.2, 14.3, 14.5 and 14.6. Errors go to the file's handler, those of
 * opening and deleting to that of MPI_FILE_NULL. */
#include "mpi_check.h"
#include "mpi_twin.h"

#include "base/input.h"
#include "base/knob.h"
#include "base/log.h"
#include "core/hint.h"
#include "core/info.h"
#include "io/cb.h"
#include "io/stripe.h"

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

enum {
	SIEVE_MAX = 512 << 10,
	PERMISSIONS = 0666,
	CB_LEN_MIN = 4096,
	CB_LEN_MAX = 1 << 30,
};

/* A number without more behind it, or -1. */
static int64_t file_number(const char *value, int base)
{
	char *end;
	long long n = strtoll(value, &end, base);

	return end == value || *end || n < 0 ? -1 : n;
}

static bool file_is_switch(const char *value)
{
	return !strcmp(value, "enable") || !strcmp(value, "disable") ||
	       !strcmp(value, "automatic");
}

static bool file_is_permissions(const char *value)
{
	int64_t n = file_number(value, 8);

	return n >= 0 && n <= 0777;
}

static bool file_is_size(const char *value)
{
	return file_number(value, 10) > 0;
}

static bool file_is_cb_len(const char *value)
{
	int64_t n = file_number(value, 10);

	return n >= CB_LEN_MIN && n <= CB_LEN_MAX;
}

static bool file_is_count(const char *value)
{
	int64_t n = file_number(value, 10);

	return n > 0 && n <= INT32_MAX;
}

static bool file_is_bool(const char *value)
{
	return !strcmp(value, "true") || !strcmp(value, "false");
}

/* Of cb_config_list: so many of each node, or all. */
static bool file_is_per_node(const char *value)
{
	return !strncmp(value, "*:", 2) &&
	       (!strcmp(value + 2, "*") || file_is_count(value + 2));
}

static bool file_is_text(const char *value)
{
	return *value != 0;
}

/* The keys that files know, of the standard and of ROMIO, whose names people's
 * scripts have. Where is_good is NULL the value is what the library does, and
 * asking for another changes nothing. */
static const struct file_hint {
	const char *key;
	const char *otherwise; /* NULL: not told unless said */
	bool (*is_good)(const char *value);
	/* with CREATION the file system says what became of it */
	enum { ANY_TIME, OPENING, CREATION } when;
} file_hints[] = {
	{ "access_style", NULL, file_is_text, ANY_TIME },
	{ WEFT_HINT_ASSERT_KINDS, NULL, weft_hint_are_kinds, ANY_TIME },
	{ "file_perm", NULL, file_is_permissions, OPENING },
	{ "romio_ds_read", "automatic", file_is_switch, ANY_TIME },
	{ "ind_rd_buffer_size", "524288", file_is_size, ANY_TIME },
	{ "romio_ds_write", "automatic", file_is_switch, ANY_TIME },
	{ "ind_wr_buffer_size", "524288", file_is_size, ANY_TIME },
	{ "collective_buffering", "true", file_is_bool, ANY_TIME },
	{ "romio_cb_read", "automatic", file_is_switch, ANY_TIME },
	{ "romio_cb_write", "automatic", file_is_switch, ANY_TIME },
	{ "cb_buffer_size", NULL, file_is_cb_len, ANY_TIME },
	{ "cb_nodes", NULL, file_is_count, ANY_TIME },
	{ "cb_config_list", NULL, file_is_per_node, ANY_TIME },
	{ "romio_no_indep_rw", "false", file_is_bool, ANY_TIME },
	{ "striping_unit", NULL, file_is_cb_len, ANY_TIME },
	{ "striping_factor", NULL, file_is_count, CREATION },
};

enum { N_FILE_HINTS = sizeof(file_hints) / sizeof(file_hints[0]) };

/* Puts those of the hints into info that a file heeds and may still be given.
 * A value that makes no sense is passed over, like a key. */
static int file_take_hints(
	bool is_new, const struct weft_info *asked, struct weft_info *info)
{
	char value[WEFT_INFO_VALUE_MAX + 1];
	int err = 0;

	weft_hint_check(asked);
	for (int i = 0; i < N_FILE_HINTS && !err; i++) {
		const struct file_hint *hint = &file_hints[i];

		if (!hint->is_good || (hint->when != ANY_TIME && !is_new))
			continue;
		if (weft_info_value(asked, hint->key, value, sizeof(value)) >=
				0 &&
			hint->is_good(value))
			err = weft_info_set(info, hint->key, value);
	}
	return err;
}

/* A relative name counts from the folder in which the program began. */
static FILE *file_open_hints(const char *path, const char **why_out)
{
	const char *folder = *path == '/' ? NULL : weft_knob_folder();
	char whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s%s%s", folder ? folder : "",
		folder ? "/" : "", path);
	return weft_input_open(whole, false, why_out);
}

/* Those of the file that ROMIO_HINTS names, a key and a value to a line; of a
 * key that is there twice the first, as ROMIO has it. */
static int file_system_hints(const char *path, struct weft_info *info)
{
	struct weft_info *said = weft_info_create();
	const char *why;
	FILE *file = file_open_hints(path, &why);
	char line[512], key[256], value[256], first[2];
	int err = said ? 0 : WEFT_ERR_NOMEM;

	if (!file)
		weft_log_warn("FILE-HINTS",
			"ROMIO_HINTS names \"%.200s\", which cannot be read: "
			"%s",
			path, why);
	while (!err && file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%255s %255s", key, value) == 2 &&
			key[0] != '#' &&
			weft_info_value(said, key, first, sizeof(first)) < 0)
			err = weft_info_set(said, key, value);
	if (!err)
		err = file_take_hints(true, said, info);
	weft_info_destroy(said);
	if (file)
		fclose(file);
	return err;
}

static int64_t file_number_of(const struct weft_info *info, const char *key,
	int base, int64_t otherwise)
{
	char value[WEFT_INFO_VALUE_MAX + 1];

	return weft_info_value(info, key, value, sizeof(value)) >= 0
		       ? file_number(value, base)
		       : otherwise;
}

static const char *const file_choices[] = {
	[WEFT_FILE_DISABLE] = "disable",
	[WEFT_FILE_ENABLE] = "enable",
	[WEFT_FILE_AUTOMATIC] = "automatic",
};

static enum weft_file_choice file_choice_of(
	const struct weft_info *info, const char *key)
{
	char value[WEFT_INFO_VALUE_MAX + 1];

	if (weft_info_value(info, key, value, sizeof(value)) < 0)
		return WEFT_FILE_AUTOMATIC;
	return value[0] == 'e'	 ? WEFT_FILE_ENABLE
	       : value[0] == 'd' ? WEFT_FILE_DISABLE
				 : WEFT_FILE_AUTOMATIC;
}

static bool file_is_said(
	const struct weft_info *info, const char *key, const char *what)
{
	char value[WEFT_INFO_VALUE_MAX + 1];

	return weft_info_value(info, key, value, sizeof(value)) >= 0 &&
	       !strcmp(value, what);
}

static int64_t file_per_node_of(const struct weft_info *info)
{
	char value[WEFT_INFO_VALUE_MAX + 1];

	if (weft_info_value(info, "cb_config_list", value, sizeof(value)) < 0)
		return 0;
	return value[2] == '*' ? INT32_MAX : file_number(value + 2, 10);
}

/* What they come to. */
static struct weft_file_hints file_heed_hints(const struct weft_info *info)
{
	struct weft_file_hints hints = {
		.read_sieve = file_choice_of(info, "romio_ds_read"),
		.read_sieve_max = file_number_of(
			info, "ind_rd_buffer_size", 10, SIEVE_MAX),
		.write_sieve = file_choice_of(info, "romio_ds_write"),
		.write_sieve_max = file_number_of(
			info, "ind_wr_buffer_size", 10, SIEVE_MAX),
		.permissions = (unsigned)file_number_of(
			info, "file_perm", 8, PERMISSIONS),
		.cb_read = file_choice_of(info, "romio_cb_read"),
		.cb_write = file_choice_of(info, "romio_cb_write"),
		.cb_nodes = file_number_of(info, "cb_nodes", 10, 0),
		.cb_per_node = file_per_node_of(info),
		.cb_buffer_size = file_number_of(info, "cb_buffer_size", 10, 0),
		.striping_unit = file_number_of(info, "striping_unit", 10, 0),
		.striping_factor =
			file_number_of(info, "striping_factor", 10, 0),
	};

	/* as ROMIO has it: who promises to move nothing alone wants aggregators
	 */
	if (file_is_said(info, "romio_no_indep_rw", "true"))
		hints.cb_read = hints.cb_write = WEFT_FILE_ENABLE;
	/* the standard's word for all of it; ROMIO's say more */
	if (file_is_said(info, "collective_buffering", "false"))
		hints.cb_read = hints.cb_write = WEFT_FILE_DISABLE;
	return hints;
}

/* More hints for an open file; asked may be NULL, and err is the caller's. */
static int file_add_hints(
	struct weft_file *fh, const struct weft_info *asked, int err)
{
	struct weft_file_hints hints;

	if (!err && !fh->info && asked) {
		fh->info = weft_info_create();
		err = fh->info ? 0 : WEFT_ERR_NOMEM;
	}
	if (!err && asked)
		err = file_take_hints(false, asked, fh->info);
	hints = file_heed_hints(fh->info);
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

/* The file's own stripes; one that has none is cut by the hint all the same. */
static int file_told_stripes(const struct weft_file *fh, struct weft_info *info)
{
	struct weft_stripe stripe = weft_stripe_of(fh->fd);
	char number[24];
	int err = 0;

	if (!stripe.unit)
		stripe.unit = fh->hints.striping_unit;
	snprintf(number, sizeof(number), "%lld", (long long)stripe.unit);
	if (stripe.unit)
		err = weft_info_set(info, "striping_unit", number);
	snprintf(number, sizeof(number), "%lld", (long long)stripe.factor);
	if (!err && stripe.factor)
		err = weft_info_set(info, "striping_factor", number);
	return err;
}

/* Those of which the members have agreed on another value than one may have
 * said. */
static int file_agreed_hints(const struct weft_file *fh, struct weft_info *info)
{
	const struct weft_file_hints *hints = &fh->hints;
	bool has_cb = hints->cb_read != WEFT_FILE_DISABLE ||
		      hints->cb_write != WEFT_FILE_DISABLE;
	int n_nodes = weft_cb_nodes(fh);
	char number[24];
	int err = weft_info_set(
		info, "romio_cb_read", file_choices[hints->cb_read]);

	if (!err)
		err = weft_info_set(
			info, "romio_cb_write", file_choices[hints->cb_write]);
	if (!err)
		err = weft_info_set(info, "collective_buffering",
			has_cb ? "true" : "false");
	snprintf(number, sizeof(number), "%lld", (long long)weft_cb_len(fh));
	if (!err)
		err = weft_info_set(info, "cb_buffer_size", number);
	snprintf(number, sizeof(number), "%d", n_nodes);
	if (!err && n_nodes)
		err = weft_info_set(info, "cb_nodes", number);
	if (!err)
		err = file_told_stripes(fh, info);
	return err;
}

/* All that is in effect, said or not. */
static int file_all_hints(const struct weft_file *fh, struct weft_info *info)
{
	char value[WEFT_INFO_VALUE_MAX + 1];
	int err = 0;

	for (int i = 0; i < N_FILE_HINTS && !err; i++) {
		const struct file_hint *hint = &file_hints[i];
		const char *in_effect = hint->otherwise;

		if (hint->when != CREATION &&
			weft_info_value(
				fh->info, hint->key, value, sizeof(value)) >= 0)
			in_effect = value;
		if (in_effect)
			err = weft_info_set(info, hint->key, in_effect);
	}
	if (!err)
		err = file_agreed_hints(fh, info);
	if (!err)
		err = weft_hint_put_kinds(fh->comm->child.session, info);
	if (!err && strlen(fh->name) <= WEFT_INFO_VALUE_MAX)
		err = weft_info_set(info, "filename", fh->name);
	return err;
}

int PMPI_File_get_info(MPI_File fh, MPI_Info *info_used)
{
	struct weft_file *of = NULL;
	struct weft_info *made = NULL;
	int err;

	weft_mpi_null(info_used, MPI_INFO_NULL);
	err = weft_check_file(fh, &of);
	if (!err)
		err = weft_check_ptr(info_used, "info_used");
	if (!err) {
		made = weft_info_create();
		err = made ? file_all_hints(of, made) : WEFT_ERR_NOMEM;
	}
	if (err) {
		weft_info_destroy(made);
		return weft_mpi_raise_file(of, "MPI_File_get_info", err);
	}
	*info_used = weft_mpi_info_handle(made);
	return MPI_SUCCESS;
}

/* ---- opening and closing ---- */

/* Programs name the kind of file system as ROMIO wants it; all is one here. */
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
	const char *system = weft_knob_foreign("ROMIO_HINTS");
	struct weft_info *asked = NULL;
	int err = weft_check_info_or_null(info, &asked);

	if (!err && (asked || system)) {
		*made = weft_info_create();
		err = *made ? 0 : WEFT_ERR_NOMEM;
	}
	if (!err && asked)
		err = file_take_hints(true, asked, *made);
	/* those count more, as in ROMIO: whoever runs a program knows the
	 * machine */
	if (!err && system)
		err = file_system_hints(system, *made);
	config->hints = file_heed_hints(*made);
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
	/* the others hear of what is wrong with the rest */
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

/* A handle of the program's: it frees those of derived types. */
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
