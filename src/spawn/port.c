/* SPDX-License-Identifier: BSD-3-Clause */
/* port: connect requests, accepted or refused
 *
 * The process that opened the port answers a connect request. It sends REFUSED
 * if the port does not exist or has too many requests, or if it is closed
 * before an accept processes the request. Otherwise the accept creates the
 * communicator of the two processes, and sends ACCEPTED. The connect request
 * contains the context id of that communicator. The connecting process may have
 * withdrawn the request in the meantime. So the connecting process answers
 * ACCEPTED with CONFIRMED, or with REFUSED. After such a REFUSED, the accept
 * processes the next request. */
#include "spawn/port.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"
#include "transport/dispatch.h"
#include "transport/foreign.h"
#include "p2p/p2p.h"
#include "comm/comm_init.h"
#include "comm/blocked.h"
#include "comm/create.h"
#include "comm/disconnect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PREFIX "weft-port-2:"

enum {
	SERVICE_MAX = 400,
	CONNECT_REQUESTS_MAX = 4096, /* most pending requests at one port */
	/* bytes of the process number, the port id, shared memory and key */
	NAME_FIXED = 8 + 8 + sizeof(struct weft_shm_bc) + WEFT_BOOT_KEY_LEN,
	NAME_BYTES_MAX =
		NAME_FIXED + sizeof(((struct weft_vci_card *)NULL)->name),
};

/* A connect request of another process. It is on the list of its port, or,
 * after ACCEPTED was sent, on the list `accepted`. */
struct connect_request {
	struct weft_link link;
	uint64_t proc;
	uint64_t ctx;
	uint32_t answer; /* answer to ACCEPTED: enum weft_wire_connect_kind, or
			    0 */
};

/* Created by weft_port_open(), destroyed by weft_port_close(). */
struct port {
	struct weft_link link;
	uint64_t id;
	struct weft_link connect_requests; /* oldest first */
	uint32_t n_connect_requests;
};

/* A connect request of this process. The struct is on the stack of the call
 * that waits for the answer. */
struct pending_connect {
	struct weft_link link;
	uint64_t proc;
	uint64_t ctx;
	uint32_t answer; /* enum weft_wire_connect_kind, or 0 */
};

/* Guarded by the default VCI's lock. */
static struct weft_link ports = { &ports, &ports };
static struct weft_link pending_connects = { &pending_connects,
	&pending_connects };
static struct weft_link accepted = { &accepted, &accepted };

/* The contents of a port's name. */
struct name {
	uint64_t proc;
	uint64_t id;
	struct weft_vci_card bc;
};

/* ---- names ---- */

static void name_write(const struct name *name, char *buf)
{
	const struct weft_vci_card *bc = &name->bc;
	uint8_t bytes[NAME_BYTES_MAX];
	size_t n = NAME_FIXED + bc->name_len;

	memcpy(bytes, &name->proc, 8);
	memcpy(bytes + 8, &name->id, 8);
	memcpy(bytes + 16, &bc->shm, sizeof(bc->shm));
	memcpy(bytes + 16 + sizeof(bc->shm), bc->key, sizeof(bc->key));
	memcpy(bytes + NAME_FIXED, bc->name, bc->name_len);
	buf += sprintf(buf, PREFIX);
	for (size_t i = 0; i < n; i++)
		buf += sprintf(buf, "%02x", bytes[i]);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int name_read(const char *text, struct name *name_out)
{
	struct name name = { 0 };
	struct weft_vci_card *bc = &name.bc;
	uint8_t bytes[NAME_BYTES_MAX];
	size_t n = 0;

	if (strncmp(text, PREFIX, strlen(PREFIX)))
		goto bad;
	for (text += strlen(PREFIX); *text; text += 2) {
		if (n == sizeof(bytes) || digit(text[0]) < 0 ||
			digit(text[1]) < 0)
			goto bad;
		bytes[n++] = (uint8_t)(digit(text[0]) << 4 | digit(text[1]));
	}
	if (n < NAME_FIXED)
		goto bad;
	memcpy(&name.proc, bytes, 8);
	memcpy(&name.id, bytes + 8, 8);
	memcpy(&bc->shm, bytes + 16, sizeof(bc->shm));
	memcpy(bc->key, bytes + 16 + sizeof(bc->shm), sizeof(bc->key));
	bc->name_len = (uint8_t)(n - NAME_FIXED);
	memcpy(bc->name, bytes + NAME_FIXED, n - NAME_FIXED);
	*name_out = name;
	return 0;
bad:
	return weft_err_set(WEFT_ERR_PORT, "this is not the name of a port");
}

/* ---- ports ---- */

static struct port *port_find(uint64_t id)
{
	weft_list_for_each(link, next, &ports)
	{
		struct port *port = weft_container_of(link, struct port, link);

		if (port->id == id)
			return port;
	}
	return NULL;
}

/* Sets *port_out to the open port of this process with that name. */
static int port_named(const char *text, struct port **port_out)
{
	struct name name;
	int err = name_read(text, &name);

	if (err)
		return err;
	*port_out = name.proc == weft_proc.proc ? port_find(name.id) : NULL;
	return *port_out ? 0
			 : weft_err_set(WEFT_ERR_PORT,
				   "this process has no such port open");
}

static int port_send(uint64_t proc, uint64_t port, uint64_t ctx,
	enum weft_wire_connect_kind kind)
{
	struct {
		struct weft_wire_connect wire;
		struct weft_vci_card bc;
	} msg = { .wire = { .port = port, .ctx = ctx, .kind = kind } };
	int err = 0;

	if (kind == WEFT_WIRE_CONNECT_REQUEST && weft_foreign_is(proc))
		err = weft_foreign_bc(weft_foreign_attach(proc), &msg.bc);
	return err ? err
		   : weft_p2p_control_locked(&weft_proc.vci, proc,
			     WEFT_WIRE_CONNECT, &msg, sizeof(msg));
}

int weft_port_open(char *buf, bool is_near)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct port *port = calloc(1, sizeof(*port));
	struct name name = { .proc = weft_proc.proc };
	int err = port ? 0 : WEFT_ERR_NOMEM;

	if (!err && getrandom(&name.id, sizeof(name.id), 0) != sizeof(name.id))
		err = weft_err_set(
			WEFT_ERR_OTHER, "getrandom: %s", strerror(errno));
	weft_vci_lock(vci);
	if (!err)
		err = weft_foreign_bc(is_near, &name.bc);
	if (!err) {
		port->id = name.id;
		weft_list_init(&port->connect_requests);
		weft_list_push_back(&ports, &port->link);
		name_write(&name, buf);
	}
	weft_vci_unlock(vci);
	if (err)
		free(port);
	return err;
}

int weft_port_close(const char *name)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct port *port;
	struct weft_link *link;
	int err;

	weft_vci_lock(vci);
	err = port_named(name, &port);
	if (!err) {
		weft_list_remove(&port->link);
		while ((link = weft_list_pop_front(&port->connect_requests)) !=
			NULL) {
			struct connect_request *k = weft_container_of(
				link, struct connect_request, link);

			port_send(k->proc, port->id, k->ctx,
				WEFT_WIRE_CONNECT_REFUSED);
			free(k);
		}
		free(port);
	}
	weft_vci_unlock(vci);
	return err;
}

/* ---- published ---- */

/* The functions of this section hold no VCI's lock while they call the process
 * manager, which may be slow. */

static int port_check_service(const char *service)
{
	size_t len = strlen(service);

	if (len && len <= SERVICE_MAX)
		return 0;
	return weft_err_set(WEFT_ERR_SERVICE,
		"a service name has 1 to %d characters, this one has %zu",
		SERVICE_MAX, len);
}

static int explain_no_manager(int err)
{
	return err == WEFT_ERR_UNSUPPORTED
		       ? weft_err_set(WEFT_ERR_SERVICE,
				 "there is no process manager to publish with; "
				 "start the program by mpiexec")
		       : err;
}

int weft_port_publish(const char *service, const char *name)
{
	int err = port_check_service(service);

	if (err)
		return err;
	err = explain_no_manager(
		weft_boot_publish(weft_proc.boot, service, name));
	return err;
}

int weft_port_unpublish(const char *service)
{
	int err = port_check_service(service);

	if (err)
		return err;
	err = explain_no_manager(weft_boot_unpublish(weft_proc.boot, service));
	return err;
}

int weft_port_lookup(const char *service, char *buf, size_t len)
{
	int err = port_check_service(service);

	if (err)
		return err;
	err = explain_no_manager(
		weft_boot_lookup(weft_proc.boot, service, buf, len));
	return err;
}

/* ---- connect requests arrive ---- */

static void on_request(struct weft_vci *vci, uint64_t proc,
	const struct weft_wire_connect *wire, const struct weft_vci_card *bc)
{
	struct port *port = port_find(wire->port);
	struct connect_request *k;

	if (weft_foreign_set_bc(proc, bc)) {
		weft_dispatch_drop(vci, "a connect request without an address");
		return;
	}
	k = port && port->n_connect_requests < CONNECT_REQUESTS_MAX
		    ? malloc(sizeof(*k))
		    : NULL;
	if (!k) {
		port_send(
			proc, wire->port, wire->ctx, WEFT_WIRE_CONNECT_REFUSED);
		return;
	}
	*k = (struct connect_request){ .proc = proc, .ctx = wire->ctx };
	weft_list_push_back(&port->connect_requests, &k->link);
	port->n_connect_requests++;
}

static void on_withdraw(uint64_t proc, const struct weft_wire_connect *wire)
{
	struct port *port = port_find(wire->port);

	if (!port)
		return;
	weft_list_for_each(link, next, &port->connect_requests)
	{
		struct connect_request *k =
			weft_container_of(link, struct connect_request, link);

		if (k->proc != proc || k->ctx != wire->ctx)
			continue;
		weft_list_remove(&k->link);
		port->n_connect_requests--;
		free(k);
		return;
	}
}

/* Handles the answer to a connect request of this process. If the request was
 * withdrawn, ACCEPTED is answered with REFUSED, because the accept waits for an
 * answer. */
static void port_on_answer(uint64_t proc, const struct weft_wire_connect *wire)
{
	bool is_late = true;

	weft_list_for_each(link, next, &pending_connects)
	{
		struct pending_connect *a =
			weft_container_of(link, struct pending_connect, link);

		if (a->proc != proc || a->ctx != wire->ctx)
			continue;
		a->answer = wire->kind;
		is_late = false;
	}
	if (wire->kind == WEFT_WIRE_CONNECT_ACCEPTED)
		port_send(proc, wire->port, wire->ctx,
			is_late ? WEFT_WIRE_CONNECT_REFUSED
				: WEFT_WIRE_CONNECT_CONFIRMED);
}

/* Handles the answer to an ACCEPTED of this process. False if this process
 * waits for no such answer. */
static bool on_confirm(uint64_t proc, const struct weft_wire_connect *wire)
{
	weft_list_for_each(link, next, &accepted)
	{
		struct connect_request *k =
			weft_container_of(link, struct connect_request, link);

		if (k->proc == proc && k->ctx == wire->ctx) {
			k->answer = wire->kind;
			return true;
		}
	}
	return false;
}

static void on_connect_message(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_connect wire;
	struct weft_vci_card bc;

	(void)head;
	if (!weft_wire_get_connect(&wire, payload, len) ||
		len != sizeof(wire) + sizeof(bc)) {
		weft_dispatch_drop(vci, "a connect request of a wrong length");
		return;
	}
	memcpy(&bc, (const char *)payload + sizeof(wire), sizeof(bc));
	switch (wire.kind) {
	case WEFT_WIRE_CONNECT_REQUEST:
		on_request(vci, peer->proc, &wire, &bc);
		break;
	case WEFT_WIRE_CONNECT_WITHDRAWN:
		on_withdraw(peer->proc, &wire);
		break;
	case WEFT_WIRE_CONNECT_CONFIRMED:
	case WEFT_WIRE_CONNECT_REFUSED:
		if (!on_confirm(peer->proc, &wire))
			port_on_answer(peer->proc, &wire);
		break;
	case WEFT_WIRE_CONNECT_ACCEPTED:
		port_on_answer(peer->proc, &wire);
		break;
	default:
		weft_dispatch_drop(vci, "a connect request of an unknown kind");
	}
}

void weft_port_listen(struct weft_vci *vci)
{
	weft_dispatch_set(vci, WEFT_WIRE_CONNECT, on_connect_message);
}

/* ---- the two roots ---- */

/* Creates the communicator of the two roots. VCI's lock held. */
static int make_pair(struct weft_comm *local, uint64_t porter, uint64_t guest,
	uint64_t ctx, struct weft_comm **pair_out)
{
	uint64_t procs[2] = { porter, guest };
	struct weft_comm_init b = {
		.session = local->child.session,
		.ctx = ctx,
		.errh = local->errh,
		.tag = "port",
	};
	int err = weft_group_create(procs, 2, &b.group);

	if (!err)
		err = weft_comm_init(&b, pair_out);
	weft_group_put(b.group);
	return err;
}

/* Waits for a connect request. The wait ends when the port is closed, or when
 * the spawned job `job` has ended ("": none). It also ends when a member of
 * local fails, because then there is no intercommunicator. */
static int wait_connect_request(const struct weft_comm *local, const char *name,
	const char *job, struct connect_request **request_out)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_PORT,
		.vci = vci,
		.id = *job ? "SESSION-SPAWN" : "SESSION-ACCEPT",
		.what = *job ? "MPI_Comm_spawn" : "MPI_Comm_accept",
		.awaited = *job ? "the new processes to call MPI_Init or "
				  "MPI_Session_init"
				: "another job to connect",
	};
	struct port *port;
	struct weft_link *link;
	int err;

	weft_blocked_begin(&blocked);
	while ((err = port_named(name, &port)) == 0) {
		if (local->failed) {
			err = weft_comm_failed(local);
			break;
		}
		link = weft_list_pop_front(&port->connect_requests);
		if (link) {
			port->n_connect_requests--;
			*request_out = weft_container_of(
				link, struct connect_request, link);
			break;
		}
		if (*job && weft_foreign_has_ended(job)) {
			err = weft_err_set(WEFT_ERR_SPAWN,
				"the processes ended before they called "
				"MPI_Init or MPI_Session_init");
			break;
		}
		weft_blocked_round(&blocked);
	}
	weft_blocked_end(&blocked);
	return err;
}

static bool has_failed_port(uint64_t proc)
{
	const struct weft_peer *peer = weft_peer_of(&weft_proc.vci, proc);

	return peer && peer->state == WEFT_PEER_FAILED;
}

/* Sends ACCEPTED for a connect request and waits for the answer. False if the
 * connecting process has cancelled the request, or has failed. */
static bool is_confirmed(struct connect_request *k, const char *what)
{
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_PORT,
		.vci = &weft_proc.vci,
		.id = "SESSION-ACCEPT",
		.what = what,
		.awaited = "the connecting process to answer",
	};

	weft_list_push_back(&accepted, &k->link);
	port_send(k->proc, 0, k->ctx, WEFT_WIRE_CONNECT_ACCEPTED);
	weft_blocked_begin(&blocked);
	while (!k->answer && !has_failed_port(k->proc))
		weft_blocked_round(&blocked);
	weft_blocked_end(&blocked);
	weft_list_remove(&k->link);
	return k->answer == WEFT_WIRE_CONNECT_CONFIRMED;
}

/* Accepts connect requests until a request is confirmed. VCI's lock held. */
static int accept_one(struct weft_comm *local, const char *name,
	const char *job, struct weft_comm **pair_out)
{
	struct connect_request *k = NULL;
	bool is_done = false;
	int err = 0;

	while (!err && !is_done) {
		err = wait_connect_request(local, name, job, &k);
		if (err)
			break;
		err = make_pair(
			local, weft_proc.proc, k->proc, k->ctx, pair_out);
		if (err)
			port_send(
				k->proc, 0, k->ctx, WEFT_WIRE_CONNECT_REFUSED);
		else
			is_done = is_confirmed(
				k, *job ? "MPI_Comm_spawn" : "MPI_Comm_accept");
		if (!err && !is_done) {
			weft_disconnect_ops.destroy(&(*pair_out)->child);
			*pair_out = NULL;
		}
		free(k);
	}
	return err;
}

static int root_accept(struct weft_comm *local, const char *name,
	const char *job, struct weft_comm **pair_out)
{
	struct weft_vci *vci = &weft_proc.vci;
	int err;

	weft_vci_lock(vci);
	weft_disconnect_progress(vci);
	err = accept_one(local, name, job, pair_out);
	weft_vci_unlock(vci);
	return err;
}

/* Waits for the answer. Returns an error if the process with the port or a
 * member of local fails, or if no answer arrives until until_ns. */
static int wait_answer(struct weft_vci *vci, const struct weft_comm *local,
	const struct pending_connect *a, uint64_t until_ns)
{
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_PORT,
		.vci = vci,
		.id = "SESSION-CONNECT",
		.what = "MPI_Comm_connect",
		.awaited = "the port to accept",
	};
	int err = 0;

	weft_blocked_begin(&blocked);
	while (!err && !a->answer) {
		if (has_failed_port(a->proc))
			err = weft_err_set(WEFT_ERR_PORT,
				"the process that opened the port has failed");
		else if (local->failed)
			err = weft_comm_failed(local);
		else if (weft_now_ns() > until_ns)
			err = WEFT_ERR_TIMEOUT;
		else
			weft_blocked_round(&blocked);
	}
	weft_blocked_end(&blocked);
	return err;
}

/* Sends a connect request and waits for the answer. VCI's lock held. */
static int request_connection(struct weft_comm *local, const struct name *name,
	uint32_t timeout_s, struct pending_connect *a)
{
	uint64_t now = weft_now_ns();
	int err =
		port_send(a->proc, name->id, a->ctx, WEFT_WIRE_CONNECT_REQUEST);

	if (!err)
		err = wait_answer(&weft_proc.vci, local, a,
			now + timeout_s * WEFT_NS_PER_S);
	if (err)
		port_send(
			a->proc, name->id, a->ctx, WEFT_WIRE_CONNECT_WITHDRAWN);
	if (err == WEFT_ERR_TIMEOUT)
		return weft_err_set(WEFT_ERR_PORT,
			"the port did not accept within %u s", timeout_s);
	if (!err && a->answer != WEFT_WIRE_CONNECT_ACCEPTED)
		err = weft_err_set(
			WEFT_ERR_PORT, "the port does not exist or was closed");
	return err;
}

static int root_connect(struct weft_comm *local, const char *text,
	uint32_t timeout_s, struct weft_comm **pair_out)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct pending_connect a = { 0 };
	struct name name;
	int err = name_read(text, &name);

	if (!err && name.proc == weft_proc.proc)
		err = weft_err_set(WEFT_ERR_PORT,
			"a process cannot connect to a port of its own");
	if (err)
		return err;
	weft_vci_lock(vci);
	weft_disconnect_progress(vci);
	weft_list_push_back(&pending_connects, &a.link);
	a.proc = name.proc;
	err = weft_foreign_set_bc(name.proc, &name.bc);
	if (!err && !weft_foreign_is(name.proc) &&
		!weft_proc_is_member(name.proc))
		err = weft_err_set(WEFT_ERR_PORT, "there is no such process");
	if (!err) {
		/* the other job may use the same context ids */
		weft_foreign_expect();
		a.ctx = weft_proc_new_ctx(1);
		err = request_connection(local, &name, timeout_s, &a);
	}
	weft_list_remove(&a.link);
	if (!err)
		err = make_pair(
			local, name.proc, weft_proc.proc, a.ctx, pair_out);
	weft_vci_unlock(vci);
	return err;
}

/* ---- the calls ---- */

static int intercomm(struct weft_create_inter *how, struct weft_comm **comm_out)
{
	int err = weft_create_inter(how, comm_out);

	/* waits, because the two processes would stay connected during a close
	 * in the background */
	if (how->peer)
		weft_disconnect_wait(how->peer);
	return err;
}

int weft_port_accept_job(struct weft_comm *comm, int32_t root, int err,
	const char *name, const char *job, struct weft_comm **comm_out)
{
	struct weft_create_inter how = {
		.local = comm,
		.local_leader = root,
		.err = err,
		.remote_leader = 1,
	};

	if (comm->rank == root && !err)
		how.err = root_accept(comm, name, job, &how.peer);
	return intercomm(&how, comm_out);
}

int weft_port_accept(struct weft_comm *comm, int32_t root, int err,
	const char *name, struct weft_comm **comm_out)
{
	return weft_port_accept_job(comm, root, err, name, "", comm_out);
}

int weft_port_connect(struct weft_comm *comm, int32_t root, int err,
	const char *name, uint32_t timeout_s, struct weft_comm **comm_out)
{
	struct weft_create_inter how = {
		.local = comm,
		.local_leader = root,
		.err = err,
		.remote_leader = 0,
	};

	if (comm->rank == root && !err)
		how.err = root_connect(comm, name, timeout_s, &how.peer);
	return intercomm(&how, comm_out);
}
