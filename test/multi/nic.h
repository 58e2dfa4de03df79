/* SPDX-License-Identifier: BSD-3-Clause */
/* nic: communicators on which the network card is to match, and the record the
 * Slingshot stand-in keeps of what leaves */
#ifndef MTEST_NIC_H
#define MTEST_NIC_H

#include "hints.h"

static struct nic {
	char record[64]; /* a file; "": no stand-in keeps one */
} nic;

static inline bool nic_is_env(const char *name, const char *value)
{
	return getenv(name) && !strcmp(getenv(name), value);
}

/* Whether messages between processes of other nodes, as it were, are matched by
 * the card: the stand-in can, a build without does not. */
static inline bool nic_can(void)
{
	return nic_is_env("FI_PROVIDER", "cxi") && !getenv("WEFT_TEST_NO_NIC");
}

/* Before MPI begins. */
static inline void nic_record(void)
{
	if (!nic_is_env("FI_PROVIDER", "cxi") || !getenv("FI_PROVIDER_PATH"))
		return;
	snprintf(nic.record, sizeof(nic.record), "/tmp/%s.%d", "nic_record",
		(int)getpid());
	unlink(nic.record); /* of a process that was ended */
	setenv("CXISTAND_LOG", nic.record, 1);
}

static inline void nic_record_end(void)
{
	if (nic.record[0])
		unlink(nic.record);
}

/* Like from, with a match key of this value; is_named: no receive is from any
 * source. */
static inline MPI_Comm nic_comm_of(
	MPI_Comm from, const char *value, bool is_named)
{
	MPI_Comm made;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "weft_match", value));
	if (is_named)
		OK(MPI_Info_set(info, "mpi_assert_no_any_source", "true"));
	OK(MPI_Comm_dup_with_info(from, info, &made));
	OK(MPI_Info_free(&info));
	return made;
}

static inline MPI_Comm nic_comm(MPI_Comm from, const char *value)
{
	return nic_comm_of(from, value, false);
}

static inline void nic_says(MPI_Comm of, const char *want)
{
	char value[32] = "nothing";
	int len = sizeof(value), flag = 0;
	MPI_Info info;

	OK(MPI_Comm_get_info(of, &info));
	OK(MPI_Info_get_string(info, "weft_match", &len, value, &flag));
	OK(MPI_Info_free(&info));
	CHECK(!strcmp(value, want), "weft_match is %s, not %s", value, want);
}

/* Lengths on both sides of all that matters to a fabric. */
static inline int nic_length(int i)
{
	static const int lens[] = { 0, 1, 192, 193, 5000, 16384, 16385, 70000 };

	return lens[i % 8];
}

/* The tag that the last send in the record with this message tag left with;
 * -1: none did. All are as flags say ("-": whatever). */
static inline long long nic_recorded(int tag, const char *flags)
{
	FILE *f = fopen(nic.record, "r");
	unsigned long long at, found = 0;
	char line[512], *word;
	int rank_bits = 0;
	long long n = -1;

	while (1 << rank_bits < mtest.size)
		rank_bits++;
	while (f && fgets(line, sizeof(line), f)) {
		word = strstr(line, " tag=0x");
		if (strncmp(line, "fi_tsend", 8) || !word)
			continue;
		at = strtoull(word + 7, NULL, 16);
		if ((at & INT32_MAX) != (unsigned)tag || !(at >> 31 & 1))
			continue;
		CHECK((at >> 32 & ((1u << rank_bits) - 1)) ==
				(unsigned)mtest.rank,
			"tag 0x%llx names its sender", at);
		CHECK(!strcmp(flags, "-") || strstr(line, flags),
			"a send of tag %d is %s: %s", tag, flags, line);
		CHECK(n < 0 || at == found, "the slot stays the same");
		found = at;
		n = (long long)at;
	}
	if (f)
		fclose(f);
	return n;
}

#endif
