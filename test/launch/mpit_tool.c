/* SPDX-License-Identifier: BSD-3-Clause */
/* mpit_tool: a tool that LD_PRELOAD loads into an unmodified program
 *
 * The tool prints performance variables three times: in its constructor, before
 * MPI is initialized; in MPI_Finalize; and in its destructor, after MPI. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = { "sessions", "shm_sent", "shm_sent_bytes",
	"peers_connected" };

enum { N = sizeof(names) / sizeof(names[0]) };

static MPI_T_pvar_session tool_session;
static MPI_T_pvar_handle handles[N];
static int n_events;

static void count_event(MPI_T_event_instance instance,
	MPI_T_event_registration registration, MPI_T_cb_safety safety,
	void *user_data)
{
	(void)instance;
	(void)registration;
	(void)safety;
	++*(int *)user_data;
}

/* Returns the class of the first variable with this name. */
static int tool_class(const char *name)
{
	int n = 0, class = 0, len;
	char text[64];

	MPI_T_pvar_get_num(&n);
	for (int i = 0; i < n; i++) {
		len = sizeof(text);
		MPI_T_pvar_get_info(i, text, &len, NULL, &class, NULL, NULL,
			NULL, NULL, NULL, NULL, NULL, NULL);
		if (!strcmp(text, name))
			return class;
	}
	return 0;
}

static void print_all(const char *when)
{
	unsigned long long value;

	for (int i = 0; i < N; i++)
		if (MPI_T_pvar_read(tool_session, handles[i], &value) == 0)
			printf("tool %s: %s %llu\n", when, names[i], value);
	printf("tool %s: events %d\n", when, n_events);
	fflush(stdout);
}

__attribute__((constructor)) static void begin(void)
{
	MPI_T_event_registration registration;
	int provided, index, count;

	if (MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided))
		return;
	MPI_T_pvar_session_create(&tool_session);
	for (int i = 0; i < N; i++)
		if (MPI_T_pvar_get_index(
			    names[i], tool_class(names[i]), &index) == 0)
			MPI_T_pvar_handle_alloc(
				tool_session, index, NULL, &handles[i], &count);
	if (MPI_T_event_get_index("session_opened", &index) == 0 &&
		MPI_T_event_handle_alloc(
			index, NULL, MPI_INFO_NULL, &registration) == 0)
		MPI_T_event_register_callback(registration,
			MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL,
			&n_events, count_event);
	print_all("before");
}

__attribute__((destructor)) static void end(void)
{
	print_all("after");
	MPI_T_pvar_session_free(&tool_session);
	MPI_T_finalize();
}

int MPI_Finalize(void)
{
	print_all("around");
	return PMPI_Finalize();
}
