/* SPDX-License-Identifier: BSD-3-Clause */
/* vci_test: a dedicated VCI is notified of each process that has ended */
#include "transport/proc.h"
#include "transport/progress.h"
#include "transport/vci.h"
#include "test/fake/fakeboot.h"
#include "test/unit/exhaust.h"

enum { JOB_SIZE = 6 };

static void on_failed(struct weft_peer *peer)
{
	(void)peer;
}

static int on_open(struct weft_vci *vci)
{
	vci->on_failed = on_failed;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	fakeboot_set_job(0, JOB_SIZE, JOB_SIZE);
	weft_proc.open_boot = fakeboot_open;
	return weft_proc_get(on_open);
}

static struct weft_vci *acquired(void)
{
	static const struct weft_vci_hints none;
	struct weft_vci *vci = NULL;

	assert_int_equal(weft_vci_acquire(&none, on_open, &vci), 0);
	return vci;
}

/* Reports the end of a rank to the default VCI. */
static void report(uint32_t rank)
{
	const struct weft_boot_event event = {
		.kind = WEFT_BOOT_PEER_DIED,
		.rank = rank,
		.code = 137,
		.end = WEFT_BOOT_END_CRASHED,
	};

	weft_vci_lock(&weft_proc.vci);
	weft_proc_on_event(&weft_proc.vci, &event);
	weft_vci_unlock(&weft_proc.vci);
}

/* True if the VCI treats the rank as failed, after a round of progress. */
static bool has_failed(struct weft_vci *vci, uint32_t rank)
{
	const struct weft_peer *peer;
	bool is_failed;

	weft_vci_lock(vci);
	weft_progress(vci);
	peer = weft_map_get(&vci->peers, weft_proc.proc + rank + 1);
	is_failed = peer && peer->state == WEFT_PEER_FAILED;
	weft_vci_unlock(vci);
	return is_failed;
}

static void a_death_is_reported_to_each_vci(void **state)
{
	struct weft_vci *vcis[2] = { acquired(), acquired() };

	(void)state;
	report(1);
	report(2);
	for (int i = 0; i < 2; i++) {
		assert_true(has_failed(vcis[i], 1));
		assert_true(has_failed(vcis[i], 2));
		assert_false(has_failed(vcis[i], 3));
		weft_vci_release(vcis[i]);
	}
}

/* The default VCI has a peer for the process. The dedicated VCI has none, and
 * no memory for one when the process ends. It is notified when there is memory.
 */
static void no_death_is_lost_without_memory(void **state)
{
	struct weft_vci *vci = acquired();
	struct block *blocks;
	bool has_failed_at_once;

	(void)state;
	skip_unless_exhaustible();
	weft_vci_lock(&weft_proc.vci);
	assert_non_null(weft_peer_of(&weft_proc.vci, weft_proc.proc + 3));
	weft_vci_unlock(&weft_proc.vci);
	blocks = exhaust();
	report(3);
	has_failed_at_once = has_failed(vci, 3);
	give_back(blocks);
	assert_false(has_failed_at_once); /* there was no memory for a peer */
	assert_true(has_failed(vci, 3));
	weft_vci_release(vci);
}

/* Acquires VCIs until a new one opens. */
static struct weft_vci *opened(void)
{
	unsigned n = weft_proc.n_others;
	struct weft_vci *vci;

	do
		vci = acquired();
	while (weft_proc.n_others == n);
	return vci;
}

static void a_new_vci_knows_earlier_deaths(void **state)
{
	(void)state;
	report(4);
	assert_true(has_failed(opened(), 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_death_is_reported_to_each_vci),
		cmocka_unit_test(no_death_is_lost_without_memory),
		cmocka_unit_test(a_new_vci_knows_earlier_deaths),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
