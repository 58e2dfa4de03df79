/* SPDX-License-Identifier: BSD-3-Clause */
/* file_agree: the members of a file agree on errors and numbers */
#include "io/file_priv.h"

#include "coll/coll.h"
#include "core/req.h"
#include "io/pool.h"
#include "transport/vci.h"

#include <stdio.h>
#include <string.h>

int64_t weft_file_err_encode(const struct weft_file *file, int err)
{
	return err ? (int64_t)err * ((int64_t)1 << 32) + file->comm->rank : 0;
}

static int rank_of_err_code(int64_t code)
{
	return (int)(code & 0xffffffff);
}

int weft_file_err_decode(
	const struct weft_file *file, int err, const char *why, int64_t code)
{
	int rank = rank_of_err_code(code), of_rank = (int)(code >> 32);

	if (err)
		return why[0] ? weft_err_set(err, "%s", why) : err;
	return code ? weft_err_set(of_rank, "at rank %d of file \"%s\": %s",
			      rank, weft_syscall_short_name(file->name),
			      weft_err_str(of_rank))
		    : 0;
}

static struct weft_coll numbers_of(
	struct weft_file *file, int n, const int64_t *mine, int64_t *all)
{
	struct weft_type *type = weft_type_builtin(WEFT_TYPE_INT64);

	return (struct weft_coll){ .comm = file->comm,
		.ctx_offset = WEFT_CTX_OFFSET_COLL,
		.send = { .buf = (void *)(uintptr_t)mine,
			.count = n,
			.type = type },
		.recv = { .buf = all, .count = n, .type = type } };
}

int weft_file_numbers(struct weft_file *file, enum weft_coll_kind kind,
	enum weft_redop_builtin op, int n, const int64_t *mine, int64_t *all)
{
	struct weft_coll args = numbers_of(file, n, mine, all);

	if (file->comm->size == 1 && !weft_comm_is_revoked(file->comm)) {
		memcpy(all, mine, (size_t)n * sizeof(*all));
		return 0;
	}
	args.op = weft_redop_builtin((unsigned)op);
	return weft_coll_run(kind, &args);
}

int weft_file_gather(struct weft_file *file, bool is_background, int n,
	const int64_t *mine, int64_t *all)
{
	struct weft_coll args = numbers_of(file, n, mine, all);
	struct weft_vci *vci = file->comm->vci;
	struct weft_req *req = NULL;
	int err;

	if (!is_background)
		return weft_coll_run(WEFT_COLL_ALLGATHER, &args);
	weft_vci_lock(vci);
	err = weft_coll_start_locked(WEFT_COLL_ALLGATHER, &args, &req);
	if (!err) {
		weft_pool_await(vci, req, true);
		err = req->status.err;
		weft_req_put(req);
	}
	weft_vci_unlock(vci);
	return err;
}

/* Returns WEFT_ERR_NOT_SAME if a number differs between members. The
 * description names the first such number. */
static int check_same(const struct weft_file_agreement *on,
	const int64_t *least, const int64_t *most)
{
	for (int i = 0; i < on->n_same; i++)
		if (least[i] != ~most[i])
			return weft_err_set(WEFT_ERR_NOT_SAME,
				"%s is %lld here, from %lld to %lld elsewhere",
				on->names[i], (long long)on->same[i],
				(long long)least[i], (long long)~most[i]);
	return 0;
}

/* Sets the error of another rank, with its text. If the text does not name the
 * file, adds the name. */
static int set_remote_err(
	const struct weft_file *file, int err, int rank, const char *text)
{
	const char *name = weft_syscall_short_name(file->name);
	char quoted[WEFT_ERR_TEXT];

	snprintf(quoted, sizeof(quoted), "%s\"", name);
	if (strstr(text, quoted))
		return weft_err_set(err, "at rank %d: %.230s", rank, text);
	return weft_err_set(
		err, "at rank %d of file \"%s\": %.140s", rank, name, text);
}

/* `code` encodes an error and its rank, and is equal at all members. The rank
 * in `code` broadcasts the text of its error. Members without an error of their
 * own set this error. */
static int share_err_text(
	struct weft_file *file, int err, const char *why, int64_t code)
{
	int rank = rank_of_err_code(code), rc;
	char text[WEFT_ERR_TEXT];
	struct weft_coll args = { .comm = file->comm,
		.ctx_offset = WEFT_CTX_OFFSET_COLL,
		.recv = { .buf = text,
			.count = sizeof(text),
			.type = weft_type_builtin(WEFT_TYPE_BYTE) },
		.root = rank };

	memset(text, 0, sizeof(text));
	snprintf(text, sizeof(text), "%s", why);
	rc = weft_coll_run(WEFT_COLL_BCAST, &args);
	text[sizeof(text) - 1] = '\0';
	if (err || rc || !text[0])
		return weft_file_err_decode(file, err, why, code);
	return set_remote_err(file, (int)(code >> 32), rank, text);
}

int weft_file_agree_on(
	struct weft_file *file, int err, const struct weft_file_agreement *on)
{
	enum { N = 1 + 2 * WEFT_FILE_SAME_MAX + WEFT_FILE_LEAST_MAX };
	int64_t mine[N], all[N];
	int64_t *rest = mine + 1 + 2 * on->n_same;
	char why[WEFT_ERR_TEXT];
	int rc;

	why[0] = '\0';
	if (err)
		snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
	mine[0] = weft_file_err_encode(file, err);
	for (int i = 0; i < on->n_same; i++) {
		mine[1 + i] = on->same[i];
		/* the minimum of the complements is the complement of the
		 * maximum */
		mine[1 + on->n_same + i] = ~on->same[i];
	}
	for (int i = 0; i < on->n_least; i++)
		rest[i] = *on->least[i];
	rc = weft_file_numbers(file, WEFT_COLL_ALLREDUCE, WEFT_OP_MIN,
		1 + 2 * on->n_same + on->n_least, mine, all);
	rc = weft_comm_explain(file->comm, rc);
	if (rc)
		return err ? weft_file_err_decode(file, err, why, 0) : rc;
	for (int i = 0; i < on->n_least; i++)
		*on->least[i] = all[rest - mine + i];
	if (all[0])
		return share_err_text(file, err, why, all[0]);
	return check_same(on, all + 1, all + 1 + on->n_same);
}

int weft_file_agree(struct weft_file *file, int err)
{
	static const struct weft_file_agreement nothing_else;

	return weft_file_agree_on(file, err, &nothing_else);
}
