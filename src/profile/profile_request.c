/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_request: the messages of persistent and partitioned requests
 *
 * A hash table with open addressing, whose keys are handles. Handles are never
 * reused, so the entry of a request that is not freed by MPI_Request_free is
 * harmless. */
#include "profile/profile_record.h"

#include <pthread.h>
#include <stdlib.h>

/* The table is doubled when half of it is used. */
enum { REQUESTS_FIRST = 64 };

struct profile_request {
	MPI_Request request; /* MPI_REQUEST_NULL: free */
	MPI_Comm comm;
	int rank;
	uint64_t bytes;
};

static struct {
	pthread_mutex_t lock;
	struct profile_request *entries;
	size_t n, max; /* max: a power of 2 */
} requests = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Returns the entry of the request, or the free entry where it would be stored.
 * Lock held; max is not 0. */
static struct profile_request *request_at(MPI_Request request)
{
	size_t i = (size_t)(((uintptr_t)request * 0x9e3779b97f4a7c15ull) >> 32);

	while (requests.entries[i & (requests.max - 1)].request != request &&
		requests.entries[i & (requests.max - 1)].request !=
			MPI_REQUEST_NULL)
		i++;
	return &requests.entries[i & (requests.max - 1)];
}

/* Doubles the table. Without memory the table stays as it is, and
 * weft_profile_init() stores no entry once it is full. Lock held. */
static void requests_grow(void)
{
	struct profile_request *old = requests.entries;
	size_t n = requests.max, max = n ? 2 * n : REQUESTS_FIRST;
	struct profile_request *entries = calloc(max, sizeof(*entries));

	if (!entries)
		return;
	for (size_t i = 0; i < max; i++)
		entries[i].request = MPI_REQUEST_NULL;
	requests.entries = entries;
	requests.max = max;
	for (size_t i = 0; i < n; i++)
		if (old[i].request != MPI_REQUEST_NULL)
			*request_at(old[i].request) = old[i];
	free(old);
}

void weft_profile_init(
	MPI_Request request, MPI_Comm comm, int rank, uint64_t bytes)
{
	pthread_mutex_lock(&requests.lock);
	if (2 * (requests.n + 1) > requests.max)
		requests_grow();
	if (requests.n + 1 < requests.max) {
		*request_at(request) =
			(struct profile_request){ request, comm, rank, bytes };
		requests.n++;
	}
	pthread_mutex_unlock(&requests.lock);
}

/* Returns a copy of the entry; its request is MPI_REQUEST_NULL if there is
 * none. */
static struct profile_request request_find(MPI_Request request)
{
	struct profile_request found = { .request = MPI_REQUEST_NULL };

	pthread_mutex_lock(&requests.lock);
	if (requests.max)
		found = *request_at(request);
	pthread_mutex_unlock(&requests.lock);
	return found;
}

void weft_profile_start(
	struct weft_profile_call *call, int n, const MPI_Request *started)
{
	call->event = NULL; /* the timeline has no persistent requests */
	for (int i = 0; started && i < n; i++) {
		struct profile_request entry = request_find(started[i]);

		if (entry.request == MPI_REQUEST_NULL)
			continue;
		if (entry.rank >= 0)
			weft_profile_sent(
				call, entry.comm, entry.rank, 0, entry.bytes);
		else
			weft_profile_bytes(call, entry.bytes);
	}
}

/* Removes the entry, and moves later entries of the same run into the gap. */
void weft_profile_forget(const MPI_Request *request)
{
	struct profile_request *gap, moved;
	size_t at;

	pthread_mutex_lock(&requests.lock);
	gap = request && requests.max ? request_at(*request) : NULL;
	if (gap && gap->request != MPI_REQUEST_NULL) {
		requests.n--;
		gap->request = MPI_REQUEST_NULL;
		at = (size_t)(gap - requests.entries);
		for (;;) {
			at = (at + 1) & (requests.max - 1);
			moved = requests.entries[at];
			if (moved.request == MPI_REQUEST_NULL)
				break;
			requests.entries[at].request = MPI_REQUEST_NULL;
			*request_at(moved.request) = moved;
		}
	}
	pthread_mutex_unlock(&requests.lock);
}
