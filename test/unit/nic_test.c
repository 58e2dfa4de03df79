/* SPDX-License-Identifier: BSD-3-Clause */
/* nic_test: near devices on a simulated machine of two packages */
#include "topo/nic.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Each package has a processor, memory, and an RDMA device on its own bus. */
static void package(FILE *f, int i)
{
	int set = 1 << i, id = 10 * (i + 1);
	char sets[200];

	snprintf(sets, sizeof(sets),
		"os_index=\"%d\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" "
		"nodeset=\"0x%x\" complete_nodeset=\"0x%x\"",
		i, set, set, set, set);
	fprintf(f, "<object type=\"Package\" %s gp_index=\"%d\">\n", sets, id);
	fprintf(f,
		"<object type=\"NUMANode\" %s gp_index=\"%d\" "
		"local_memory=\"1048576\"/>\n",
		sets, id + 1);
	fprintf(f, "<object type=\"PU\" %s gp_index=\"%d\"/>\n", sets, id + 2);
	fprintf(f,
		"<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" "
		"depth=\"0\" bridge_pci=\"0000:[%02x-%02x]\">\n",
		id + 3, 0x10 * i, 0x10 * i + 1);
	fprintf(f,
		"<object type=\"PCIDev\" gp_index=\"%d\" "
		"pci_busid=\"0000:%02x:00.0\" "
		"pci_type=\"0207 [15b3:101b] [15b3:0007] 00\" "
		"pci_link_speed=\"0\">\n",
		id + 4, 0x10 * i + 1);
	fprintf(f,
		"<object type=\"OSDev\" gp_index=\"%d\" name=\"mlx5_%d\" "
		"subtype=\"OpenFabrics\" osdev_type=\"3\"/>\n"
		"</object></object></object>\n",
		id + 5, i);
}

static char path[] = "/tmp/nic_test.XXXXXX";

static int make_machine(void **state)
{
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	(void)state;
	if (!f)
		return -1;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	      "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
	      "<topology version=\"2.0\">\n"
	      "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" "
	      "complete_cpuset=\"0x3\" allowed_cpuset=\"0x3\" nodeset=\"0x3\" "
	      "complete_nodeset=\"0x3\" allowed_nodeset=\"0x3\" "
	      "gp_index=\"1\">\n",
		f);
	package(f, 0);
	package(f, 1);
	fputs("</object>\n</topology>\n", f);
	fclose(f);
	setenv("HWLOC_XMLFILE", path, 1);
	setenv("HWLOC_THISSYSTEM", "1", 1); /* the binding of this process
					     * counts */
	return 0;
}

static int unmake_machine(void **state)
{
	(void)state;
	return unlink(path);
}

static void bind_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		print_message("cpu %d is not ours to use\n", cpu);
		skip();
	}
}

static void those_of_my_package_are_near(void **state)
{
	char list[128];

	(void)state;
	bind_to(0);
	weft_nic_near(list, sizeof(list));
	assert_string_equal(list, "mlx5_0,0000:01:00.0");
	bind_to(1);
	weft_nic_near(list, sizeof(list));
	assert_string_equal(list, "mlx5_1,0000:11:00.0");
}

static void an_unbound_process_has_no_near_device(void **state)
{
	char list[128];
	cpu_set_t set;

	(void)state;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	CPU_SET(1, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		skip();
	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2) {
		print_message("there is one cpu\n");
		skip();
	}
	weft_nic_near(list, sizeof(list));
	assert_string_equal(list, "");
}

static void excess_text_is_cut(void **state)
{
	char list[10];

	(void)state;
	bind_to(0);
	weft_nic_near(list, sizeof(list));
	assert_string_equal(list, "mlx5_0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_of_my_package_are_near),
		cmocka_unit_test(an_unbound_process_has_no_near_device),
		cmocka_unit_test(excess_text_is_cut),
	};

	return cmocka_run_group_tests(tests, make_machine, unmake_machine);
}
