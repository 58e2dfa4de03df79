/* SPDX-License-Identifier: BSD-3-Clause */
/* port: knock, let in, refuse
 *
 * A knock is answered exactly once, unless the port's process makes no
 * progress: WELCOME when it is taken by an accept, REFUSED when there is no
 * such port or it is closed first, or when the knock is withdrawn in time.
 * After a WELCOME the communicator of the two, whose context id came with the
 * knock, exists at the port's side. */
#include "session/port.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"
#include "core/outer.h"
#include "p2p/p2p.h"
#include "session/birth.h"
#include "session/blocked.h"
#include "session/create.h"
#include "session/disconnect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PREFIX "weft-port-1:"

enum {
	SERVICE_MAX = 400,
	KNOCKS_MAX = 4096,  /* that wait at one port */
	WITHDRAW_S = 5,	    /* for an answer to a withdrawal */
	NAME_FIXED = 8 + 8, /* process, port */
};

/* Somebody knocked and waits. */
struct knock {
	struct weft_link link;
	uint64_t proc;
	uint64_t ctx;
};

/* Made by weft_port_open, destroyed by weft_port_close. */
struct port {
	struct weft_link link;
	uint64_t id;
	struct weft_link knocks; /* oldest first */
	uint32_t n_knocks;
};

/* A knock of ours; on the stack of who waits for its answer. */
struct asked {
	struct weft_link link;
	uint64_t proc;
	uint64_t ctx;
	uint32_t answer; /* enum weft_wire_knock_kind, or 0 */
};

/* Guarded by the default lane's lock. */
static struct weft_link ports = { &ports, &ports };
static struct weft_link askeds = { &askeds, &askeds };

/* What a port's name says. */
struct name {
	uint64_t proc;
	uint64_t id;
	struct weft_lane_card card;
};

/* ---- names ---- */

static void name_write(const struct name *name, char *buf)
{
	const struct weft_lane_card *card = &name->card;
	uint8_t bytes[NAME_FIXED + sizeof(card->key) + sizeof(card->name)];
	size_t n = 0;

	memcpy(bytes, &name->proc, 8);
	memcpy(bytes + 8, &name->id, 8);
	memcpy(bytes + NAME_FIXED, card->key, sizeof(card->key));
	n = NAME_FIXED + sizeof(card->key);
	memcpy(bytes + n, card->name, card->name_len);
	n += card->name_len;
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
	struct weft_lane_card *card = &name.card;
	uint8_t bytes[NAME_FIXED + sizeof(card->key) + sizeof(card->name)];
	size_t n = 0, fixed = NAME_FIXED + sizeof(card->key);

	if (strncmp(text, PREFIX, strlen(PREFIX)))
		goto bad;
	for (text += strlen(PREFIX); *text; text += 2) {
		if (n == sizeof(bytes) || digit(text[0]) < 0 ||
			digit(text[1]) < 0)
			goto bad;
		bytes[n++] = (uint8_t)(digit(text[0]) << 4 | digit(text[1]));
	}
	if (n <= fixed)
		goto bad;
	memcpy(&name.proc, bytes, 8);
	memcpy(&name.id, bytes + 8, 8);
	memcpy(card->key, bytes + NAME_FIXED, sizeof(card->key));
	card->name_len = (uint8_t)(n - fixed);
	memcpy(card->name, bytes + fixed, n - fixed);
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

/* The open port of this process with that name. */
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

static int port_say(uint64_t proc, uint64_t port, uint64_t ctx,
	enum weft_wire_knock_kind kind)
{
	struct {
		struct weft_wire_knock wire;
		struct weft_lane_card card;
	} msg = { .wire = { .port = port, .ctx = ctx, .kind = kind } };
	int err = 0;

	if (kind == WEFT_WIRE_KNOCK_ASK && weft_outer_is(proc))
		err = weft_outer_card(&msg.card);
	return err ? err
		   : weft_p2p_control_held(&weft_proc.lane, proc,
			     WEFT_WIRE_KNOCK, &msg, sizeof(msg));
}

int weft_port_open(char *buf)
{
	struct weft_lane *lane = &weft_proc.lane;
	struct port *port = calloc(1, sizeof(*port));
	struct name name = { .proc = weft_proc.proc };
	int err = port ? 0 : WEFT_ERR_NOMEM;

	if (!err && getrandom(&name.id, sizeof(name.id), 0) != sizeof(name.id))
		err = weft_err_set(
			WEFT_ERR_OTHER, "getrandom: %s", strerror(errno));
	weft_lane_take(lane);
	if (!err)
		err = weft_outer_card(&name.card);
	if (!err) {
		port->id = name.id;
		weft_list_init(&port->knocks);
		weft_list_push_back(&ports, &port->link);
		name_write(&name, buf);
	}
	weft_lane_drop(lane);
	if (err)
		free(port);
	return err;
}

int weft_port_close(const char *name)
{
	struct weft_lane *lane = &weft_proc.lane;
	struct port *port;
	struct weft_link *link;
	int err;

	weft_lane_take(lane);
	err = port_named(name, &port);
	if (!err) {
		weft_list_remove(&port->link);
		while ((link = weft_list_pop_front(&port->knocks)) != NULL) {
			struct knock *k =
				weft_container_of(link, struct knock, link);

			port_say(k->proc, port->id, k->ctx,
				WEFT_WIRE_KNOCK_REFUSED);
			free(k);
		}
		free(port);
	}
	weft_lane_drop(lane);
	return err;
}

/* ---- published ---- */

/* The manager may take its time, so that no lane's lock is held. */

static int port_check_service(const char *service)
{
	size_t len = strlen(service);

	if (len && len <= SERVICE_MAX)
		return 0;
	return weft_err_set(WEFT_ERR_SERVICE,
		"a service name has 1 to %d characters, this one has %zu",
		SERVICE_MAX, len);
}

static int say_alone(int err)
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
	err = say_alone(weft_boot_publish(weft_proc.boot, service, name));
	return err;
}

int weft_port_unpublish(const char *service)
{
	int err = port_check_service(service);

	if (err)
		return err;
	err = say_alone(weft_boot_unpublish(weft_proc.boot, service));
	return err;
}

int weft_port_lookup(const char *service, char *buf, size_t len)
{
	int err = port_check_service(service);

	if (err)
		return err;
	err = say_alone(weft_boot_lookup(weft_proc.boot, service, buf, len));
	return err;
}

/* ---- knocks arrive ---- */

static void on_ask(struct weft_lane *lane, uint64_t proc,
	const struct weft_wire_knock *wire, const struct weft_lane_card *card)
{
	struct port *port = port_find(wire->port);
	struct knock *k;

	if (weft_outer_meet(proc, card)) {
		weft_dispatch_drop(lane, "a knock without an address");
		return;
	}
	k = port && port->n_knocks < KNOCKS_MAX ? malloc(sizeof(*k)) : NULL;
	if (!k) {
		port_say(proc, wire->port, wire->ctx, WEFT_WIRE_KNOCK_REFUSED);
		return;
	}
	*k = (struct knock){ .proc = proc, .ctx = wire->ctx };
	weft_list_push_back(&port->knocks, &k->link);
	port->n_knocks++;
}

static void on_withdraw(uint64_t proc, const struct weft_wire_knock *wire)
{
	struct port *port = port_find(wire->port);

	if (!port)
		return;
	weft_list_for_each(link, next, &port->knocks)
	{
		struct knock *k = weft_container_of(link, struct knock, link);

		if (k->proc != proc || k->ctx != wire->ctx)
			continue;
		weft_list_remove(&k->link);
		port->n_knocks--;
		free(k);
		port_say(proc, wire->port, wire->ctx, WEFT_WIRE_KNOCK_REFUSED);
		return;
	}
}

static void port_on_answer(uint64_t proc, const struct weft_wire_knock *wire)
{
	weft_list_for_each(link, next, &askeds)
	{
		struct asked *a = weft_container_of(link, struct asked, link);

		if (a->proc == proc && a->ctx == wire->ctx)
			a->answer = wire->kind;
	}
}

static void on_knock(struct weft_lane *lane, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_knock wire;
	struct weft_lane_card card;

	(void)head;
	if (!weft_wire_get_knock(&wire, payload, len) ||
		len != sizeof(wire) + sizeof(card)) {
		weft_dispatch_drop(lane, "a knock of a wrong length");
		return;
	}
	memcpy(&card, (const char *)payload + sizeof(wire), sizeof(card));
	switch (wire.kind) {
	case WEFT_WIRE_KNOCK_ASK:
		on_ask(lane, peer->proc, &wire, &card);
		break;
	case WEFT_WIRE_KNOCK_WITHDRAW:
		on_withdraw(peer->proc, &wire);
		break;
	case WEFT_WIRE_KNOCK_WELCOME:
	case WEFT_WIRE_KNOCK_REFUSED:
		port_on_answer(peer->proc, &wire);
		break;
	default:
		weft_dispatch_drop(lane, "a knock of an unknown kind");
	}
}

void weft_port_listen(struct weft_lane *lane)
{
	weft_dispatch_set(lane, WEFT_WIRE_KNOCK, on_knock);
}

/* ---- the two roots ---- */

/* The communicator of the two. Lane's lock held. */
static int make_pair(struct weft_comm *local, uint64_t porter, uint64_t guest,
	uint64_t ctx, struct weft_comm **pair_out)
{
	uint64_t procs[2] = { porter, guest };
	struct weft_birth b = {
		.session = local->child.session,
		.ctx = ctx,
		.errh = local->errh,
		.tag = "port",
	};
	int err = weft_group_create(procs, 2, &b.group);

	if (!err)
		err = weft_birth(&b, pair_out);
	weft_group_put(b.group);
	return err;
}

/* Waits for somebody to knock. The port may be closed meanwhile. */
static int wait_knock(struct weft_lane *lane, const char *name, const char *job,
	struct knock **knock_out)
{
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_PORT,
		.lane = lane,
		.id = *job ? "SESSION-SPAWN" : "SESSION-ACCEPT",
		.what = *job ? "MPI_Comm_spawn" : "MPI_Comm_accept",
		.whom = *job ? "the new processes to call MPI_Init"
			     : "somebody to connect",
	};
	struct port *port;
	struct weft_link *link;
	int err;

	weft_blocked_begin(&blocked);
	while ((err = port_named(name, &port)) == 0) {
		link = weft_list_pop_front(&port->knocks);
		if (link) {
			port->n_knocks--;
			*knock_out =
				weft_container_of(link, struct knock, link);
			break;
		}
		if (*job && weft_outer_has_ended(job)) {
			err = weft_err_set(WEFT_ERR_SPAWN,
				"the processes ended before they called "
				"MPI_Init");
			break;
		}
		weft_blocked_round(&blocked);
	}
	weft_blocked_end(&blocked);
	return err;
}

static int let_in(struct weft_comm *local, const char *name, const char *job,
	struct weft_comm **pair_out)
{
	struct weft_lane *lane = &weft_proc.lane;
	struct knock *k = NULL;
	int err;

	weft_lane_take(lane);
	weft_disconnect_tend(lane);
	err = wait_knock(lane, name, job, &k);
	if (!err)
		err = make_pair(
			local, weft_proc.proc, k->proc, k->ctx, pair_out);
	if (k)
		port_say(k->proc, 0, k->ctx,
			err ? WEFT_WIRE_KNOCK_REFUSED
			    : WEFT_WIRE_KNOCK_WELCOME);
	weft_lane_drop(lane);
	free(k);
	return err;
}

static bool is_dead(uint64_t proc)
{
	const struct weft_peer *peer = weft_peer_of(&weft_proc.lane, proc);

	return peer && peer->state == WEFT_PEER_DEAD;
}

/* Until there is an answer, its process is gone, or the time is over. */
static int wait_answer(
	struct weft_lane *lane, const struct asked *a, uint64_t until_ns)
{
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_PORT,
		.lane = lane,
		.id = "SESSION-CONNECT",
		.what = "MPI_Comm_connect",
		.whom = "the port to accept",
	};
	int err = 0;

	weft_blocked_begin(&blocked);
	while (!err && !a->answer) {
		if (is_dead(a->proc))
			err = weft_err_set(WEFT_ERR_PORT,
				"the process that opened the port is gone");
		else if (weft_now_ns() > until_ns)
			err = WEFT_ERR_TIMEOUT;
		else
			weft_blocked_round(&blocked);
	}
	weft_blocked_end(&blocked);
	return err;
}

/* Knocks and waits. Lane's lock held. */
static int port_ask(struct weft_lane *lane, const struct name *name,
	uint32_t timeout_s, struct asked *a)
{
	uint64_t now = weft_now_ns();
	int err = port_say(a->proc, name->id, a->ctx, WEFT_WIRE_KNOCK_ASK);

	if (!err)
		err = wait_answer(lane, a, now + timeout_s * WEFT_NS_PER_S);
	if (err == WEFT_ERR_TIMEOUT) {
		/* it may be let in just now */
		port_say(a->proc, name->id, a->ctx, WEFT_WIRE_KNOCK_WITHDRAW);
		err = wait_answer(
			lane, a, weft_now_ns() + WITHDRAW_S * WEFT_NS_PER_S);
		if (err || a->answer != WEFT_WIRE_KNOCK_WELCOME)
			return weft_err_set(WEFT_ERR_PORT,
				"the port did not accept within %u s",
				timeout_s);
	}
	if (!err && a->answer != WEFT_WIRE_KNOCK_WELCOME)
		err = weft_err_set(
			WEFT_ERR_PORT, "the port does not exist or was closed");
	return err;
}

static int go_in(struct weft_comm *local, const char *text, uint32_t timeout_s,
	struct weft_comm **pair_out)
{
	struct weft_lane *lane = &weft_proc.lane;
	struct asked a = { 0 };
	struct name name;
	int err = name_read(text, &name);

	if (!err && name.proc == weft_proc.proc)
		err = weft_err_set(WEFT_ERR_PORT,
			"a process cannot connect to a port of its own");
	if (err)
		return err;
	weft_lane_take(lane);
	weft_disconnect_tend(lane);
	weft_list_push_back(&askeds, &a.link);
	a.proc = name.proc;
	err = weft_outer_meet(name.proc, &name.card);
	if (!err && !weft_outer_is(name.proc) &&
		!weft_proc_is_member(name.proc))
		err = weft_err_set(WEFT_ERR_PORT, "there is no such process");
	if (!err) {
		weft_outer_expect(); /* the other job counts its ids alike */
		a.ctx = weft_proc_new_ctx(1);
		err = port_ask(lane, &name, timeout_s, &a);
	}
	weft_list_remove(&a.link);
	if (!err)
		err = make_pair(
			local, name.proc, weft_proc.proc, a.ctx, pair_out);
	weft_lane_drop(lane);
	return err;
}

/* ---- the calls ---- */

static int bridge(struct weft_create_inter *how, struct weft_comm **comm_out)
{
	int err = weft_create_inter(how, comm_out);

	/* at once: what closes in the background would go on tying the two */
	if (how->bridge)
		weft_disconnect_wait(how->bridge);
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
		how.err = let_in(comm, name, job, &how.bridge);
	return bridge(&how, comm_out);
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
		how.err = go_in(comm, name, timeout_s, &how.bridge);
	return bridge(&how, comm_out);
}
