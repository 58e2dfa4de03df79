/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_main: the options of weft-sim */
#include "coll/coll_algo.h"
#include "test/sim/sim.h"
#include "test/sim/sim_phases.h"
#include "transport/proc.h"
#include "watchdog/monitor.h"

#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	MOST_PROCS = 1 << 20,
	MOST_BYTES = 1 << 30,
	LARGE_BLOCK = 128 * 1024,
};

enum {
	OPTION_GROUP = 256,
	OPTION_INTERFACES,
	OPTION_LINKS,
	OPTION_SIZE,
	OPTION_UNTIL,
	OPTION_REPAIR
};

static void usage(FILE *to)
{
	fprintf(to,
		"usage: weft-sim [OPTION]... simulates a job of many "
		"processes\n"
		"  -n, --procs N         processes (default 64)\n"
		"  -p, --per-node N      processes of a node (default 1)\n"
		"  -w, --network NAME    slingshot11, hdr or ndr (default "
		"slingshot11)\n"
		"      --interfaces N    network interfaces of a node (default "
		"1)\n"
		"  -l, --topology NAME   fat-tree, dragonfly or none (default "
		"none): links\n"
		"                        that nodes share\n"
		"      --group N         nodes that share links (default: as "
		"published)\n"
		"      --links N         links of a group to all others "
		"(default: as published)\n"
		"  -c, --coll OPERATION  only this collective, by its name of "
		"weft-info --coll\n"
		"      --size BYTES,...  with --coll: data of whole calls, or "
		"blocks (default 8)\n"
		"      --until PHASE     the last phase (default: finalize)\n"
		"      --repair          only open, create, dup, agree, "
		"shrink, "
		"disconnect, finalize\n"
		"  -s, --seed N          seed of the delays (default 1)\n"
		"  -j, --jitter NS       longest additional delay of a message "
		"(default 0)\n"
		"  -d, --dead N          processes that die before the phase "
		"shrink (default 0)\n"
		"  -t, --deadline S      real seconds (default 300)\n"
		"One row for each phase: simulated time; messages that a "
		"process sends, the mean\n"
		"and the most; messages to other nodes, the mean; the most "
		"bytes, new peers and\n"
		"cards requested by a process.\n");
}

static uint64_t number(
	const char *name, const char *text, uint64_t least, uint64_t most)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (end != text && !*end && *text != '-' && value >= least &&
		value <= most)
		return value;
	fprintf(stderr,
		"weft-sim: --%s %s: the value must be a number from %llu to "
		"%llu\n",
		name, text, (unsigned long long)least,
		(unsigned long long)most);
	exit(2);
}

static struct weft_loggp path_of(const char *name)
{
	const struct weft_network *network = weft_network_find(name);

	if (network)
		return network->path;
	fprintf(stderr,
		"weft-sim: --network %s: the known networks are slingshot11, "
		"hdr and ndr\n",
		name);
	exit(2);
}

static struct weft_topology topology_of(const char *name)
{
	const struct weft_topology *topology = weft_topology_find(name);

	if (topology)
		return *topology;
	if (!strcmp(name, "none"))
		return (struct weft_topology){ 0 };
	fprintf(stderr,
		"weft-sim: --topology %s: the known topologies are fat-tree, "
		"dragonfly and none\n",
		name);
	exit(2);
}

static const char *known_coll(const char *name)
{
	if (sim_coll_is_known(name))
		return name;
	fprintf(stderr,
		"weft-sim: --coll %s: no such operation; weft-info --coll x "
		"lists them\n",
		name);
	exit(2);
}

static const char *known_phase(const char *name)
{
	const struct sim_phase *phase;

	for (size_t i = 0; (phase = sim_phase_at(i)) != NULL; i++)
		if (!strcmp(phase->name, name))
			return name;
	fprintf(stderr, "weft-sim: --until %s: no such phase\n", name);
	exit(2);
}

/* Exits with a message unless the text is a list of numbers. */
static const char *sizes_of(const char *text)
{
	char word[32];

	for (const char *at = text;; at++) {
		size_t len = strcspn(at, ",");

		snprintf(word, sizeof(word), "%.*s", (int)len, at);
		number("size", word, 0, MOST_BYTES);
		at += len;
		if (!*at)
			return text;
	}
}

/* Values of options that are 0 unless they are given. */
struct given {
	uint32_t group, links;
};

static const struct option long_options[] = {
	{ "procs", required_argument, NULL, 'n' },
	{ "per-node", required_argument, NULL, 'p' },
	{ "network", required_argument, NULL, 'w' },
	{ "interfaces", required_argument, NULL, OPTION_INTERFACES },
	{ "topology", required_argument, NULL, 'l' },
	{ "group", required_argument, NULL, OPTION_GROUP },
	{ "links", required_argument, NULL, OPTION_LINKS },
	{ "coll", required_argument, NULL, 'c' },
	{ "size", required_argument, NULL, OPTION_SIZE },
	{ "until", required_argument, NULL, OPTION_UNTIL },
	{ "repair", no_argument, NULL, OPTION_REPAIR },
	{ "seed", required_argument, NULL, 's' },
	{ "jitter", required_argument, NULL, 'j' },
	{ "dead", required_argument, NULL, 'd' },
	{ "deadline", required_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void parse(int argc, char **argv, struct sim_options *o)
{
	struct given given = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "n:p:w:l:c:s:j:d:t:h", long_options,
			NULL)) != -1)
		switch (c) {
		case 'n':
			o->n_procs = (uint32_t)number(
				"procs", optarg, 2, MOST_PROCS);
			break;
		case 'p':
			o->per_node =
				(uint32_t)number("per-node", optarg, 1, 4096);
			break;
		case 'w':
			o->between = path_of(optarg);
			break;
		case OPTION_INTERFACES:
			o->interfaces =
				(uint32_t)number("interfaces", optarg, 1, 64);
			break;
		case 'l':
			o->topology = topology_of(optarg);
			break;
		case OPTION_GROUP:
			given.group = (uint32_t)number(
				"group", optarg, 1, MOST_PROCS);
			break;
		case OPTION_LINKS:
			given.links = (uint32_t)number(
				"links", optarg, 1, MOST_PROCS);
			break;
		case 'c':
			o->coll = known_coll(optarg);
			break;
		case OPTION_SIZE:
			o->sizes = sizes_of(optarg);
			break;
		case OPTION_UNTIL:
			o->until = known_phase(optarg);
			break;
		case OPTION_REPAIR:
			o->repairs = true;
			break;
		case 's':
			o->seed = number("seed", optarg, 0, UINT64_MAX);
			break;
		case 'j':
			o->jitter = (uint32_t)number(
				"jitter", optarg, 0, SIM_NS_PER_S);
			break;
		case 'd':
			o->n_dead = (uint32_t)number(
				"dead", optarg, 0, MOST_PROCS / 2);
			break;
		case 't':
			o->deadline_s =
				(uint32_t)number("deadline", optarg, 1, 86400);
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	if (optind < argc) {
		fprintf(stderr, "weft-sim: %s is not an option\n",
			argv[optind]);
		exit(2);
	}
	if ((given.group || given.links) && !o->topology.n_nodes) {
		fprintf(stderr, "weft-sim: --group and --links need --topology "
				"fat-tree or dragonfly\n");
		exit(2);
	}
	if (given.group)
		o->topology.n_nodes = given.group;
	if (given.links)
		o->topology.n_links = given.links;
	if (o->n_dead > o->n_procs / 2) {
		fprintf(stderr,
			"weft-sim: --dead %u: at most half of the %u processes "
			"may die\n",
			o->n_dead, o->n_procs);
		exit(2);
	}
}

/* The memory of a process, in KiB. */
static unsigned long long kib_of(const struct sim_options *o)
{
	const struct sim_phase *phase = sim_phase_at(0);

	for (size_t i = 1; !o->until || strcmp(phase->name, o->until); i++) {
		if (!sim_phase_at(i))
			break;
		phase = sim_phase_at(i);
	}
	return phase->kib;
}

/* Exits with a message if the machine has too little memory. */
static void check_memory(const struct sim_options *o)
{
	unsigned long long each = kib_of(o);
	unsigned long long need = each * o->n_procs, available = 0;
	FILE *file = fopen("/proc/meminfo", "r");
	char line[256];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		sscanf(line, "MemAvailable: %llu kB", &available);
	fclose(file);
	if (!available || need <= available)
		return;
	fprintf(stderr,
		"weft-sim: %u processes need about %llu MiB, and %llu MiB are "
		"available: choose at most --procs %llu\n",
		o->n_procs, need / 1024, available / 1024, available / each);
	exit(2);
}

/* The most memory that this program has had, in KiB. */
static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

int main(int argc, char **argv)
{
	long before;
	int status;

	struct sim_options options = {
		.n_procs = 64,
		.per_node = 1,
		.between = path_of("slingshot11"),
		.within = weft_network_within,
		.interfaces = 1,
		.sizes = "8",
		.seed = 1,
		.deadline_s = 300,
		.get_ns = 200000,
		.detect_ns = 1000000,
		.service_ns = 20000,
	};

	/* large blocks get new pages, most of which stay unused */
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
	mallopt(M_MMAP_MAX, INT_MAX);
	parse(argc, argv, &options);
	check_memory(&options);
	/* the simulated processes share no memory */
	setenv("WEFT_SHM", "off", 1);
	setenv("WEFT_PROVIDER", "sim", 1);
	/* little memory for received messages */
	setenv("WEFT_NET_BUFS", "2", 0);
	setenv("WEFT_NET_BUF_LEN", "32768", 0);
	/* no line of each process for each death */
	setenv("WEFT_LOG", "error", 0);
	weft_proc.open_boot = sim_boot_open;
	/* One for all processes: descriptors are limited, and rules take
	 * memory. */
	weft_monitor_open();
	if (weft_coll_rules_load()) {
		fprintf(stderr, "weft-sim: %s\n",
			weft_err_detail_peek(WEFT_ERR_ARG));
		return 2;
	}
	sim_fabric_install();
	if (!sim_world_create(&options))
		return 1;
	sim_boot_install();
	printf("# %u processes, %u of each node\n", options.n_procs,
		options.per_node);
	printf("%-10s %10s %9s %7s %9s %10s %7s %7s\n", "# phase", "us",
		"messages", "most", "far", "bytes", "peers", "cards");
	fflush(stdout);
	before = peak_kib();
	status = sim_world_run(sim_run);
	if (!status)
		printf("# memory: %ld KiB for each process\n",
			(peak_kib() - before) / (long)options.n_procs);
	fflush(stdout);
	/* The handlers of exit() are those of the simulated processes. */
	_exit(status);
}
