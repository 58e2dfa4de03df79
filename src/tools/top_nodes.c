/* SPDX-License-Identifier: BSD-3-Clause */
/* top_nodes: passes records of a job's processes from the weft-top of each node
 * to the weft-top that the user started
 *
 * A line is "weft-top-node HOST" or "weft-top-part WRITER RANK AT LEN HEX". HEX
 * has the bytes of a record of LEN bytes, from offset AT on. WRITER is a random
 * number of the weft-top that prints the record. Launchers read a
 * multiple of LINE_LEN bytes at a time (PRRTE: 4096). Each line has this length
 * and is written by one call, so no launcher puts its tag, or the output of
 * another node, into a line. */
#include "tools/top_nodes.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART_MARK "weft-top-part "
#define NODE_MARK "weft-top-node "

enum {
	LINE_LEN = 512,	  /* length of a line, newline included */
	PART_BYTES = 220, /* bytes of a record in one line */
	PARTS_MAX = 1 << 20,
	READ_LEN = 4096, /* longest line, with a launcher's tag */
};

/* The beginning of a record. proc.n_comms communicators of the process follow.
 */
struct part {
	char build[WEFT_MONITOR_BUILD];
	char host[WEFT_TOP_HOST];
	uint64_t at_ns; /* time of the record, by the node's clock */
	struct weft_top_proc proc;
};

/* The record of one rank, of which n_got of len bytes have arrived. All bytes
 * are of one writer. */
struct parts {
	uint64_t writer;
	uint32_t rank;
	size_t len, n_got;
	char *record;
};

struct merging {
	struct parts *all;
	size_t n;
	uint32_t n_nodes;
};

/* ---- the weft-top of a node ---- */

static void print_part_line(const char *text, FILE *to)
{
	fprintf(to, "%-*s\n", LINE_LEN - 1, text);
	fflush(to);
}

static void print_record(uint64_t writer, uint32_t rank,
	const unsigned char *record, size_t len, FILE *to)
{
	char line[LINE_LEN];

	for (size_t at = 0; at < len; at += PART_BYTES) {
		size_t used = (size_t)snprintf(line, sizeof(line),
			PART_MARK "%" PRIx64 " %u %zu %zu ", writer, rank, at,
			len);

		for (size_t i = 0; i < PART_BYTES && at + i < len; i++)
			used += (size_t)snprintf(line + used,
				sizeof(line) - used, "%02x", record[at + i]);
		print_part_line(line, to);
	}
}

void weft_top_part_print(const struct weft_top_job *job, FILE *to)
{
	char host[WEFT_TOP_HOST] = "", line[LINE_LEN];
	uint64_t writer = weft_now_ns();

	(void)!getrandom(&writer, sizeof(writer), 0);
	gethostname(host, sizeof(host) - 1);
	snprintf(line, sizeof(line), NODE_MARK "%s", host);
	print_part_line(line, to);
	for (size_t i = 0; i < job->n; i++) {
		const struct weft_top_proc *proc = &job->procs[i];
		size_t comms_len = proc->n_comms * sizeof(*proc->comms);
		struct part *part = calloc(1, sizeof(*part) + comms_len);

		if (!part)
			return;
		weft_monitor_print_build(part->build);
		memcpy(part->host, host, sizeof(host));
		part->at_ns = weft_now_ns();
		part->proc = *proc;
		part->proc.comms = NULL;
		if (comms_len)
			memcpy(part + 1, proc->comms, comms_len);
		print_record(writer, proc->rank, (void *)part,
			sizeof(*part) + comms_len, to);
		free(part);
	}
}

/* ---- the weft-top that the user started ---- */

static struct parts *arrived_of(
	struct merging *m, uint64_t writer, uint32_t rank, size_t len)
{
	struct parts *all;

	for (size_t i = m->n; i-- > 0;)
		if (m->all[i].rank == rank)
			return &m->all[i];
	if (len < sizeof(struct part) || len > PARTS_MAX)
		return NULL;
	all = realloc(m->all, (m->n + 1) * sizeof(*all));
	if (!all)
		return NULL;
	m->all = all;
	all[m->n] = (struct parts){ writer, rank, len, 0, calloc(1, len) };
	return all[m->n].record ? &all[m->n++] : NULL;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Uses a line only if its bytes continue those that have arrived from the same
 * writer. If two writers report a rank, the record of the first is used. */
static void add_part_line(struct merging *m, const char *line)
{
	const char *mark = strstr(line, PART_MARK), *hex;
	struct parts *parts;
	size_t at, len;
	uint64_t writer;
	unsigned rank;
	int begin = 0;

	if (strstr(line, NODE_MARK))
		m->n_nodes++;
	if (!mark ||
		sscanf(mark + strlen(PART_MARK), "%" SCNx64 " %u %zu %zu %n",
			&writer, &rank, &at, &len, &begin) < 4)
		return;
	parts = arrived_of(m, writer, rank, len);
	if (!parts || parts->writer != writer || parts->len != len ||
		parts->n_got != at)
		return;
	hex = mark + strlen(PART_MARK) + begin;
	for (; at < len && hex_digit(hex[0]) >= 0 && hex_digit(hex[1]) >= 0;
		hex += 2)
		parts->record[at++] =
			(char)(hex_digit(hex[0]) << 4 | hex_digit(hex[1]));
	parts->n_got = at;
}

/* Converts a time by the clock of another node to the clock of this node. */
static void move_time(uint64_t *ns, uint64_t now, uint64_t there)
{
	if (*ns)
		*ns += now - there;
}

static void end_text(char *text, size_t len)
{
	text[len - 1] = 0;
}

/* Adds the process of a record to the job. False: the record is incomplete,
 * invalid or of another build. */
static bool accept_part(struct weft_top_job *job, const struct parts *parts)
{
	const uint64_t now = weft_now_ns();
	char build[WEFT_MONITOR_BUILD];
	struct part *part = (void *)parts->record;
	struct weft_top_proc *proc = &part->proc;
	size_t comms_len = parts->len - sizeof(*part);

	weft_monitor_print_build(build);
	if (parts->n_got != parts->len ||
		strncmp(part->build, build, sizeof(build)) ||
		proc->rank != parts->rank || proc->n_comms > WEFT_TOP_COMMS ||
		proc->n_edges > WEFT_WIRE_EDGES ||
		comms_len != proc->n_comms * sizeof(*proc->comms))
		return false;
	proc->comms = malloc(comms_len + 1);
	if (!proc->comms)
		return false;
	memcpy(proc->comms, part + 1, comms_len);
	proc->mem_fd = proc->page_fd = -1;
	memcpy(proc->host, part->host, sizeof(proc->host));
	end_text(proc->host, sizeof(proc->host));
	end_text(proc->text, sizeof(proc->text));
	end_text(proc->page.job, sizeof(proc->page.job));
	end_text(proc->facts.call, sizeof(proc->facts.call));
	end_text(proc->facts.object, sizeof(proc->facts.object));
	for (uint32_t i = 0; i < proc->n_comms; i++)
		end_text(proc->comms[i].name, sizeof(proc->comms[i].name));
	move_time(&proc->since_ns, now, part->at_ns);
	move_time(&proc->edges_ns, now, part->at_ns);
	move_time(&proc->now.at_ns, now, part->at_ns);
	move_time(&proc->before.at_ns, now, part->at_ns);
	job->procs[job->n++] = *proc;
	return true;
}

static void merge_parts(struct weft_top_job *job, const struct merging *m)
{
	size_t n_bad = 0;

	job->procs = calloc(m->n + 1, sizeof(*job->procs));
	for (size_t i = 0; job->procs && i < m->n; i++)
		n_bad += !accept_part(job, &m->all[i]);
	if (n_bad)
		fprintf(stderr,
			"weft-top: %zu ranks are not shown: their nodes have "
			"a weft-top of another build, or the command of "
			"--nodes mixes or cuts lines\n",
			n_bad);
	job->n_nodes = m->n_nodes;
	if (!job->n)
		return;
	weft_top_job_sort(job);
	snprintf(job->name, sizeof(job->name), "%s", job->procs[0].page.job);
}

/* Starts the command, with this program and its arguments appended. *out reads
 * the output of the command. */
static pid_t start_parts(const char *command, const char *name, FILE **out)
{
	char self[4096] = "", text[4096];
	int ends[2];
	pid_t pid;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 ||
		pipe(ends))
		return -1;
	snprintf(text, sizeof(text), "%s \"$@\"", command);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl("/bin/sh", "sh", "-c", text, "sh", self, "--part", name,
			(char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	*out = pid < 0 ? NULL : fdopen(ends[0], "r");
	if (!*out)
		close(ends[0]);
	return pid;
}

bool weft_top_nodes_read(struct weft_top_job *job, const char *command,
	const char *name, char why[WEFT_TOP_WHY])
{
	struct merging m = { 0 };
	char line[READ_LEN];
	FILE *out = NULL;
	pid_t pid = start_parts(command, name, &out);
	int status = -1;

	*job = (struct weft_top_job){ 0 };
	while (out && fgets(line, sizeof(line), out))
		add_part_line(&m, line);
	if (out)
		fclose(out);
	if (pid > 0)
		waitpid(pid, &status, 0);
	merge_parts(job, &m);
	for (size_t i = 0; i < m.n; i++)
		free(m.all[i].record);
	free(m.all);
	if (job->n)
		return true;
	weft_top_job_fini(job);
	snprintf(why, WEFT_TOP_WHY,
		"no process of job %s on the %u nodes where \"%s\" started "
		"weft-top (status %d); the command of --nodes must start it "
		"once on each node",
		name, m.n_nodes, command,
		WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return false;
}
