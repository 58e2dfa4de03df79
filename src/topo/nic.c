/* SPDX-License-Identifier: BSD-3-Clause */
/* nic: network devices of this host, and the objects they are attached to */
#include "topo/nic.h"

#include "base/err.h"

#include <hwloc.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 96 };

static bool topo_nic_load(hwloc_topology_t *topology_out)
{
	if (hwloc_topology_init(topology_out))
		return false;
	hwloc_topology_set_io_types_filter(
		*topology_out, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	if (!hwloc_topology_load(*topology_out))
		return true;
	hwloc_topology_destroy(*topology_out);
	return false;
}

static hwloc_obj_t pci_of(hwloc_obj_t device)
{
	while (device && device->type != HWLOC_OBJ_PCI_DEVICE)
		device = device->parent;
	return device;
}

/* Prints the id "Type:index" of the object that a device is attached to; if an
 * object other than the machine has exactly one NUMA node, prints the id of
 * this node. */
static void print_object_id(hwloc_obj_t object, char *text, size_t len)
{
	char type[32];
	hwloc_obj_t named = object;

	if (object->memory_arity == 1 && object->type != HWLOC_OBJ_MACHINE)
		named = object->memory_first_child;
	hwloc_obj_type_snprintf(type, sizeof(type), named, 0);
	snprintf(text, len, "%s:%u", type, named->logical_index);
}

static void visit(hwloc_topology_t topology, hwloc_obj_t device,
	hwloc_const_bitmap_t mine, weft_nic_fn *fn, void *arg)
{
	hwloc_obj_t object = hwloc_get_non_io_ancestor_obj(topology, device);
	hwloc_obj_t on_bus = pci_of(device);
	const char *vendor =
		on_bus ? hwloc_obj_get_info_by_name(on_bus, "PCIVendor") : NULL;
	char pci[TEXT_MAX] = "", near[TEXT_MAX];
	struct weft_nic nic = {
		.name = device->name ? device->name : "",
		.kind = device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK
				? "network"
				: "rdma",
		.pci = pci,
		.vendor = vendor ? vendor : "",
		.near = near,
	};

	if (on_bus)
		snprintf(pci, sizeof(pci), "%04x:%02x:%02x.%x",
			(unsigned)on_bus->attr->pcidev.domain,
			(unsigned)on_bus->attr->pcidev.bus,
			(unsigned)on_bus->attr->pcidev.dev,
			(unsigned)on_bus->attr->pcidev.func);
	print_object_id(object, near, sizeof(near));
	nic.is_local = hwloc_bitmap_isincluded(mine, object->cpuset);
	fn(arg, &nic);
}

int weft_nic_visit(weft_nic_fn *fn, void *arg)
{
	hwloc_bitmap_t mine = hwloc_bitmap_alloc();
	hwloc_topology_t topology;
	hwloc_obj_t device = NULL;

	if (!mine || !topo_nic_load(&topology)) {
		hwloc_bitmap_free(mine);
		return weft_err_set(
			WEFT_ERR_OTHER, "hwloc cannot read this machine");
	}
	if (hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_THREAD))
		hwloc_bitmap_copy(
			mine, hwloc_topology_get_allowed_cpuset(topology));
	while ((device = hwloc_get_next_osdev(topology, device)) != NULL)
		if (device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK ||
			device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
			visit(topology, device, mine, fn, arg);
	hwloc_topology_destroy(topology);
	hwloc_bitmap_free(mine);
	return 0;
}

struct near {
	char *list;
	size_t len;
};

static void append_word(struct near *near, const char *word)
{
	size_t used = strlen(near->list);

	if (*word && used + strlen(word) + 2 <= near->len)
		snprintf(near->list + used, near->len - used, "%s%s",
			used ? "," : "", word);
}

static void append_nic(void *arg, const struct weft_nic *nic)
{
	if (!nic->is_local)
		return;
	append_word(arg, nic->name);
	append_word(arg, nic->pci);
}

void weft_nic_near(char *list, size_t len)
{
	struct near near = { list, len };

	list[0] = 0;
	if (weft_nic_visit(append_nic, &near))
		list[0] = 0;
}
