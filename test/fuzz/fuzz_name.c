/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_name: names of other processes' nets, down to a real address table
 *
 * The first byte selects whether the harness corrects the prefix. No message is
 * sent. Condition: a name is refused with a reason, or it becomes an address
 * that can be removed. The process's own name is always accepted. */
#include "base/knob.h"
#include "net/net.h"
#include "test/fuzz/fuzz.h"

static struct weft_net *net;
static unsigned char ours[WEFT_NET_NAME_MAX];
static size_t ours_len = sizeof(ours);

static void on_recv(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct weft_net_hints hints = { .provider = "tcp",
		.is_one_host = true };

	(void)argc;
	(void)argv;
	setenv("FI_TCP_IFACE", "lo", 0);
	weft_knob_load();
	if (weft_net_open(&hints, on_recv, NULL, &net)) {
		printf("# no tcp here: nothing is tried\n");
		net = NULL;
		return 0;
	}
	FUZZ_CHECK(!weft_net_name(net, ours, &ours_len));
	return 0;
}

static void try(const void *name, size_t len, int must_be_right)
{
	uint64_t addr = UINT64_MAX;
	int rc = weft_net_peer_add(net, name, len, &addr);

	FUZZ_CHECK(rc == 0 || (rc == WEFT_ERR_PEER && !must_be_right));
	if (rc) {
		FUZZ_CHECK(weft_err_detail_peek(rc)[0]);
		return;
	}
	FUZZ_CHECK(addr != UINT64_MAX);
	weft_net_peer_remove(net, addr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = { data, len };
	uint8_t how = fuzz_u8(&in);
	size_t n = in.len;
	unsigned char *name;

	if (!net)
		return 0;
	name = fuzz_exact(&in, n);
	if (how % 4)
		memcpy(name, ours, n < 8 ? n : 8);
	try(name, n, 0);
	try(ours, ours_len, 1);
	free(name);
	return 0;
}
