/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_pmix: answers and events of a process manager
 *
 * The harness replaces the functions of libpmix, and derives their results from
 * the input: facts of the job, process sets and their members, published
 * values, business cards, and notices of sets, failures and ends of jobs. Types
 * and contents are arbitrary. Pointers and lengths are valid, as in results of
 * libpmix. libpmix itself is not tested. */
#include "base/err.h"
#include "base/knob.h"
#include "pmix/pmix_boot.h"
#include "pmix/pmix_boot_priv.h"
#include "test/fuzz/fuzz.h"

#include <pmix.h>

enum { TEXT_MAX = 40, ARRAY_MAX = 12, SIZE_MAX_ = 40, STEPS = 40 };

static struct fuzz_in *in; /* the rest of the current input */
static pmix_notification_fn_t handler;
static void *owner; /* the argument of notices */

/* ---- values ---- */

/* Returns a text: often one of the words that have a meaning for the library,
 * otherwise random bytes. */
static char *some_text(void)
{
	static const char *const words[] = { "", "host", "other", "0-3", "0,1",
		"0-39", "1,0,2", "green,red", "green", "red", "job", "0", "7,7",
		"4294967295" };
	uint8_t what = fuzz_u8(in);
	size_t n = sizeof(words) / sizeof(*words);
	char *text;

	if (what < n)
		return strdup(words[what]);
	n = what % TEXT_MAX;
	text = malloc(n + 1);
	FUZZ_CHECK(text);
	fuzz_bytes(in, text, n);
	text[n] = '\0';
	return text;
}

static void some_proc(pmix_proc_t *proc)
{
	uint8_t what = fuzz_u8(in);

	PMIX_LOAD_PROCID(proc,
		what & 32 ? what & 8 ? "weft.job.0000000b" : "other" : "job",
		what & 64 ? PMIX_RANK_WILDCARD
			  : (what & 128 ? fuzz_u32(in) : what & 31));
}

static void some_array(pmix_value_t *value)
{
	uint8_t what = fuzz_u8(in);
	size_t n = what % ARRAY_MAX;

	value->type = PMIX_DATA_ARRAY;
	value->data.darray = NULL;
	if (what == 255)
		return;
	PMIX_DATA_ARRAY_CREATE(
		value->data.darray, n, what & 64 ? PMIX_UINT32 : PMIX_PROC);
	FUZZ_CHECK(value->data.darray);
	for (size_t i = 0; !(what & 64) && i < n; i++)
		some_proc((pmix_proc_t *)value->data.darray->array + i);
}

static void some_bytes(pmix_value_t *value)
{
	uint8_t n = fuzz_u8(in) % TEXT_MAX;

	value->type = PMIX_BYTE_OBJECT;
	value->data.bo.bytes = n ? fuzz_exact(in, n) : NULL;
	value->data.bo.size = n;
}

static void some_value(pmix_value_t *value)
{
	uint8_t what = fuzz_u8(in);

	memset(value, 0, sizeof(*value));
	switch (what % 8) {
	case 0:
	case 1:
		value->type = PMIX_STRING;
		value->data.string = what == 248 ? NULL : some_text();
		break;
	case 2:
		value->type = PMIX_UINT32;
		value->data.uint32 =
			what & 128 ? fuzz_u32(in) : fuzz_u8(in) % SIZE_MAX_;
		break;
	case 3:
		value->type = PMIX_INT;
		value->data.integer = (int)fuzz_u32(in);
		break;
	case 4:
		some_array(value);
		break;
	case 5:
		some_bytes(value);
		break;
	case 6:
		value->type = PMIX_PROC;
		value->data.proc = calloc(1, sizeof(*value->data.proc));
		FUZZ_CHECK(value->data.proc);
		some_proc(value->data.proc);
		break;
	default:
		value->type = what & 8 ? PMIX_UNDEF : PMIX_BOOL;
	}
}

/* ---- the manager ---- */

pmix_status_t PMIx_Init(pmix_proc_t *proc, pmix_info_t info[], size_t n)
{
	(void)info, (void)n;
	PMIX_LOAD_PROCID(proc, "job", fuzz_u8(in) % 4);
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t n)
{
	(void)info, (void)n;
	return PMIX_SUCCESS;
}

/* The answer for the size of the job is always a valid size, because all other
 * answers depend on it. */
pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[],
	const pmix_info_t info[], size_t n, pmix_value_t **value_out)
{
	(void)proc, (void)info, (void)n;
	if (fuzz_u8(in) % 8 == 7)
		return PMIX_ERR_NOT_FOUND;
	*value_out = calloc(1, sizeof(**value_out));
	FUZZ_CHECK(*value_out);
	some_value(*value_out);
	if (!strcmp(key, PMIX_JOB_SIZE) && (*value_out)->type == PMIX_UINT32)
		(*value_out)->data.uint32 %= SIZE_MAX_;
	else if (!strcmp(key, PMIX_JOB_SIZE)) {
		PMIX_VALUE_DESTRUCT(*value_out);
		memset(*value_out, 0, sizeof(**value_out));
		(*value_out)->type = PMIX_UINT32;
		(*value_out)->data.uint32 = 8;
	}
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get_nb(const pmix_proc_t *proc, const char key[],
	const pmix_info_t info[], size_t n, pmix_value_cbfunc_t fn, void *arg)
{
	pmix_value_t value;
	uint8_t what = fuzz_u8(in);

	(void)proc, (void)key, (void)info, (void)n;
	if (what == 255)
		return PMIX_ERR_NOT_FOUND;
	if (what == 254) {
		fn(PMIX_ERR_UNREACH, NULL, arg);
		return PMIX_SUCCESS;
	}
	some_value(&value);
	fn(PMIX_SUCCESS, &value, arg);
	PMIX_VALUE_DESTRUCT(&value);
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Query_info(pmix_query_t queries[], size_t n,
	pmix_info_t **results, size_t *n_results)
{
	uint8_t what = fuzz_u8(in);

	(void)n;
	*results = NULL;
	*n_results = 0;
	if (what % 4 == 3)
		return PMIX_ERR_NOT_SUPPORTED;
	if (what % 4 == 2)
		return PMIX_SUCCESS;
	PMIX_INFO_CREATE(*results, 1);
	FUZZ_CHECK(*results);
	PMIX_LOAD_KEY((*results)[0].key, queries[0].keys[0]);
	some_value(&(*results)[0].value);
	*n_results = 1;
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Lookup(
	pmix_pdata_t data[], size_t n, const pmix_info_t info[], size_t n_info)
{
	(void)n, (void)info, (void)n_info;
	if (fuzz_u8(in) % 4 == 3)
		return PMIX_ERR_NOT_FOUND;
	some_value(&data[0].value);
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t n,
	pmix_info_t info[], size_t n_info, pmix_notification_fn_t fn,
	pmix_hdlr_reg_cbfunc_t done, void *arg)
{
	(void)codes, (void)n;
	FUZZ_CHECK(n_info == 1);
	handler = fn;
	owner = info[0].value.data.ptr;
	done(PMIX_SUCCESS, 1, arg);
	return PMIX_SUCCESS;
}

/* ---- steps: one notice, or one call of the library ---- */

static void notice(void)
{
	static const pmix_status_t codes[] = { PMIX_PROCESS_SET_DEFINE,
		PMIX_PROCESS_SET_DELETE, PMIX_EVENT_JOB_END,
		PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_EXIT_NONZERO_TERM };
	static const char *const keys[] = { PMIX_PSET_NAME, PMIX_PSET_MEMBERS,
		PMIX_EVENT_AFFECTED_PROC, PMIX_EXIT_CODE };
	uint8_t what = fuzz_u8(in);
	size_t n = what % 4 + 1;
	pmix_info_t *info;
	pmix_proc_t source;

	some_proc(&source);
	PMIX_INFO_CREATE(info, n);
	FUZZ_CHECK(info);
	for (size_t i = 0; i + 1 < n; i++) {
		PMIX_LOAD_KEY(info[i].key, keys[fuzz_u8(in) % 4]);
		some_value(&info[i].value);
	}
	PMIX_LOAD_KEY(info[n - 1].key, PMIX_EVENT_RETURN_OBJECT);
	info[n - 1].value.type = PMIX_POINTER;
	info[n - 1].value.data.ptr = owner;
	handler(1, codes[what / 4 % 5], &source, info, n, NULL, 0, NULL, NULL);
	PMIX_INFO_FREE(info, n);
}

static void members(struct weft_boot *boot, uint32_t size)
{
	char *name = some_text();
	uint64_t *procs = NULL, first = weft_boot_proc_number("job", 0);
	size_t n = 0;

	if (!weft_pmix_pset_members(boot, name, &procs, &n))
		for (size_t i = 0; i < n; i++)
			FUZZ_CHECK(procs[i] >> 32 != first >> 32 ||
				   procs[i] - first < size);
	free(procs);
	free(name);
}

static void names(struct weft_boot *boot)
{
	char **list = NULL;
	size_t n = 0;

	if (!weft_pmix_pset_list(boot, &list, &n))
		for (size_t i = 0; i < n; i++) {
			FUZZ_CHECK(list[i][0] && !strchr(list[i], ','));
			for (size_t j = 0; j < i; j++)
				FUZZ_CHECK(strcmp(list[i], list[j]));
		}
	free(list);
}

static void lookup(struct weft_boot *boot)
{
	char buf[16];
	char *name = some_text();

	memset(buf, 'x', sizeof(buf));
	if (!weft_pmix_lookup(boot, name, buf, sizeof(buf)))
		FUZZ_CHECK(memchr(buf, 0, sizeof(buf)));
	free(name);
}

static void on_bc(void *arg, int err, const void *data, size_t len)
{
	uint8_t sum = 0;

	(void)arg;
	FUZZ_CHECK(!err || !len);
	for (size_t i = 0; i < len; i++)
		sum ^= ((const uint8_t *)data)[i];
	FUZZ_CHECK(sum || 1);
}

static void on_event(void *arg, const struct weft_boot_event *event)
{
	const uint32_t *size = arg;

	if (event->kind == WEFT_BOOT_PEER_DIED)
		FUZZ_CHECK(event->rank < *size);
	else
		FUZZ_CHECK(memchr(event->name, 0, sizeof(event->name)));
}

static void step(struct weft_boot *boot, uint32_t *size)
{
	char host[16];

	switch (fuzz_u8(in) % 8) {
	case 0:
	case 1:
		notice();
		break;
	case 2:
		members(boot, *size);
		break;
	case 3:
		names(boot);
		break;
	case 4:
		lookup(boot);
		break;
	case 5:
		weft_pmix_get(boot, fuzz_u8(in) % *size, "card", on_bc, NULL);
		break;
	case 6:
		if (!weft_boot_host_of(boot, fuzz_u8(in), host, sizeof(host)))
			FUZZ_CHECK(memchr(host, 0, sizeof(host)));
		break;
	default:
		weft_pmix_poll(boot, on_event, size);
	}
}

static void facts_hold(struct weft_boot *boot, const struct weft_boot_facts *f)
{
	const uint32_t *near = NULL;
	size_t n = 0;

	FUZZ_CHECK(f->size && f->rank < f->size);
	FUZZ_CHECK(f->local_size && f->local_size <= f->size);
	FUZZ_CHECK(f->local_rank < f->local_size);
	FUZZ_CHECK(f->n_nodes && f->n_nodes <= f->size);
	FUZZ_CHECK(memchr(f->host, 0, sizeof(f->host)));
	FUZZ_CHECK(!weft_boot_local(boot, &near, &n) && n == f->local_size);
	FUZZ_CHECK(near[f->local_rank] == f->rank);
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK(near[i] < f->size && (!i || near[i - 1] < near[i]));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	setenv("WEFT_LOG", "error", 1);
	setenv("WEFT_PSETS", "green=0-3,7;red=4,5;red=6", 1);
	weft_knob_load();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in input = { data, len };
	struct weft_boot_facts facts;
	struct weft_boot *boot;

	in = &input;
	if (!weft_pmix_open(&boot, &facts)) {
		facts_hold(boot, &facts);
		for (int i = 0; i < STEPS && in->len; i++)
			step(boot, &facts.size);
		weft_pmix_poll(boot, on_event, &facts.size);
		weft_boot_close(boot, 1);
	}
	in = NULL;
	return 0;
}
