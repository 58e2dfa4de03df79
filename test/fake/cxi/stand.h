/* SPDX-License-Identifier: BSD-3-Clause */
/* stand: a libfabric provider that answers to the name "cxi"
 *
 * Its interface is that of the Slingshot provider: attributes, refusals and
 * extension points. In the implementation, every endpoint is a network card of
 * its own: a socket on the loopback interface, and a thread that serves remote
 * access to memory even if the process does not poll. Where the hardware does
 * not define a result, the stand-in chooses it at random, from a seed: when and
 * in which order writes become visible, and which calls are refused.
 *
 * Locks, in this order: stand_cq.bind_lock, stand_nic.lock, then one of
 * stand_dom.lock, stand_av.lock, stand_cq.lock and the lock in stand_alu.c. The
 * lock in stand_hmem.c and those of the drivers' stand-ins come last. */
#ifndef STAND_H
#define STAND_H

#include "prov/cxi_ext.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define stand_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

enum {
	STAND_EPS_MAX = 128,
	STAND_CQS_MAX = 32,
	STAND_CNTRS_MAX = 16,
	STAND_EAGER_LEN = 16384, /* longer messages are a rendezvous */
	STAND_TX_LEN = 1024,
	STAND_TX_LEN_MAX = 16384,
	STAND_RX_LEN_MAX = 15360,
};

#define STAND_MSG_MAX ((1ull << 32) - 1)
#define STAND_TAG_MASK ((1ull << WEFT_CXI_TAG_BITS) - 1)
#define STAND_ORDER                                                          \
	(FI_ORDER_SAS | FI_ORDER_WAW | FI_ORDER_RMA_WAW | FI_ORDER_RMA_RAR | \
		FI_ORDER_ATOMIC_WAW | FI_ORDER_ATOMIC_WAR |                  \
		FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_RAR)
#define STAND_LEVELS                                                        \
	(FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | \
		FI_MATCH_COMPLETE)
#define STAND_WRITE_FLAGS \
	(FI_INJECT | FI_COMPLETION | FI_MORE | FI_FENCE | STAND_LEVELS)
#define STAND_TX_FLAGS (STAND_WRITE_FLAGS | FI_REMOTE_CQ_DATA)

/* The address of an endpoint, 8 bytes; "nic" is the port of the endpoint's
 * socket. */
struct stand_addr {
	uint32_t pid : 12;
	uint32_t nic : 20;
	uint16_t vni;
};
_Static_assert(sizeof(struct stand_addr) == WEFT_CXI_ADDR_LEN, "address");

/* Settings from the environment: CXISTAND_ and the name in capitals. */
struct stand_env {
	unsigned seed;
	unsigned delay_us; /* longest delay until a write is visible */
	unsigned reorder;  /* 1: unordered writes become visible in any order */
	/* N: one of N operations has this fault; 0: none */
	unsigned eagain;     /* a post is refused with -FI_EAGAIN */
	unsigned cqerr;	     /* a remote access completes with an error */
	unsigned cqerr_msg;  /* a message completes with an error */
	unsigned lose;	     /* an unreliable atomic is lost */
	unsigned lose_msg;   /* a rendezvous is lost */
	unsigned devices;    /* number of devices */
	unsigned pcie_amo;   /* 1: fetch-and-add over PCIe is enabled */
	unsigned no_service; /* 1: the site has disabled the open service */
	unsigned profiles;   /* number of profiles of the hardware */
	unsigned hmem;	     /* 1: FI_HMEM is offered */
	unsigned fail_hmem;  /* each N-th registration of device memory fails;
				0: none */
};
extern struct stand_env stand_env;
extern struct fi_provider stand_prov;

struct stand_fab {
	struct fid_fabric fid;
	atomic_int n_refs;
};

struct stand_profile {
	uint32_t tclass;
	char type; /* packet type: default, restricted or hrp */
};

struct stand_dom {
	struct fid_domain fid;
	struct stand_fab *fab;
	pthread_mutex_t lock;
	char device[16];
	struct weft_cxi_auth_key auth;
	bool has_prov_key;
	bool has_hmem; /* opened with FI_HMEM */
	bool has_optimized;
	bool has_match_events;
	bool has_key_cache;
	uint64_t next_key;
	struct stand_profile profiles[64];
	unsigned n_profiles;
	atomic_int n_refs;
	atomic_int n_eps, n_cqs, n_cntrs;
};

struct stand_av {
	struct fid_av fid;
	struct stand_dom *dom;
	pthread_mutex_t lock;
	struct stand_addr *addrs;
	bool *is_used;
	size_t n, n_max;
	atomic_int n_refs;
};

struct stand_entry {
	struct fi_cq_tagged_entry e;
	fi_addr_t src;
};

struct stand_cq {
	struct fid_cq fid;
	struct stand_dom *dom;
	enum fi_cq_format format;
	pthread_mutex_t bind_lock; /* guards nics */
	struct stand_nic *nics[STAND_EPS_MAX];
	size_t n_nics;
	pthread_mutex_t lock; /* guards what follows */
	struct stand_entry *ring;
	size_t head, n, n_max;
	struct fi_cq_err_entry *errs;
	size_t n_errs, n_errs_max;
};

struct stand_cntr {
	struct fid_cntr fid;
	struct stand_dom *dom;
	_Atomic uint64_t value, errors;
	_Atomic(uint64_t *) wb;
	pthread_mutex_t bind_lock;
	struct stand_nic *nics[STAND_EPS_MAX];
	size_t n_nics;
};

/* A registration; in the list of its endpoint once enabled. */
struct stand_mr {
	struct fid_mr fid;
	struct stand_dom *dom;
	struct stand_nic *nic;
	struct stand_cntr *cntr;
	struct stand_mr *next;
	uint64_t key;
	char *base;
	size_t len;
	uint64_t access;
	bool is_enabled;
	bool is_strict; /* writes become visible in order */
	/* device memory only */
	struct stand_driver *driver; /* NULL: host memory */
	atomic_bool is_closed;
	atomic_int n_refs; /* the registration, and operations that use it */
};

enum stand_type {
	STAND_HELLO = 1,
	STAND_MSG,
	STAND_TAGGED,
	STAND_WRITE,
	STAND_READ,
	STAND_AMO,
	STAND_FETCH,
	STAND_COMPARE,
	STAND_ACK,
};

/* Header of a message on the socket, before its payload. */
struct stand_frame {
	uint32_t magic;
	uint8_t type;
	uint8_t op;
	uint8_t datatype;
	uint8_t pad;
	uint64_t id;
	uint64_t flags;
	uint64_t addr; /* offset in the registration, or tag */
	uint64_t key;
	uint64_t data;
	uint32_t len;  /* bytes of the payload */
	uint32_t want; /* bytes of the answer */
	int32_t status;
	uint32_t unused;
};

/* An operation of this process, from the post to its completion. */
struct stand_op {
	struct stand_op *next;
	struct stand_nic *nic;
	struct stand_frame frame;
	const void *data; /* frame.len bytes, in copy or in the user's buffer */
	void *copy;	  /* an owned copy of the data, or NULL */
	struct stand_mr *mr; /* of data in device memory; or NULL */
	void *result;
	void *context;
	fi_addr_t peer;
	uint64_t flags;	   /* flags of the call */
	uint64_t cq_flags; /* flags of the completion */
	bool is_signalled; /* a completion reports success */
	bool is_lost;
};

/* A message being sent: the request of an operation, or an answer. */
struct stand_out {
	struct stand_out *next;
	struct stand_frame frame;
	const void *data;
	void *copy;	     /* memory to free when it is sent, or NULL */
	struct stand_mr *mr; /* of data in device memory, which the card reads
				when the socket has space; or NULL */
	size_t n_done;
};

struct stand_op_list {
	struct stand_op *head;
	struct stand_op **tail;
};

struct stand_conn {
	struct stand_conn *next;
	struct stand_nic *nic;
	int fd;
	bool is_out; /* this endpoint opened it for its requests */
	bool is_dead;
	bool is_paused;
	bool is_foreign; /* the other side uses another network identifier */
	bool wants_out;
	uint32_t events;
	struct stand_addr addr; /* address of the other side */
	struct stand_op_list todo, sent;
	size_t n_sent;
	struct stand_out *out, **out_tail;
	size_t n_out;
	struct stand_frame in; /* the frame that is being read */
	char *in_data;	       /* payload of `in` */
	size_t n_in;	       /* bytes of frame and payload read so far */
	char *buf;	       /* bytes read from the socket in advance */
	size_t buf_at, buf_end;
	uint64_t last_due; /* `due` of its last ordered write */
};

/* A message that has arrived and has no receive yet. */
struct stand_arrival {
	struct stand_arrival *next;
	struct stand_frame frame;
	struct stand_addr from;
	struct stand_conn
		*conn; /* to send the answer; NULL when answered or closed */
	char *data;
};

struct stand_recv {
	struct stand_recv *next;
	char *buf;
	size_t len;
	void *context;
	fi_addr_t src;
	uint64_t tag, ignore;
	uint64_t flags;
	void *desc;
	struct stand_mr *mr; /* of a buffer in device memory; or NULL */
	bool is_signalled;
};

/* A rendezvous that has matched a receive and completes later. */
struct stand_pull {
	struct stand_pull *next;
	struct stand_recv *recv;
	struct stand_arrival *arrival;
	uint64_t due;
};

/* A write that arrived and is not visible yet. */
struct stand_pending {
	struct stand_pending *next;
	struct stand_conn *conn;
	struct stand_mr *mr;
	struct stand_frame frame;
	char *data;
	uint64_t due;
};

enum { STAND_KIND_MSG, STAND_KIND_TAGGED, STAND_KINDS };

enum stand_count {
	STAND_COUNT_SEND,
	STAND_COUNT_RECV,
	STAND_COUNT_READ,
	STAND_COUNT_WRITE,
	STAND_COUNT_REMOTE_READ,
	STAND_COUNT_REMOTE_WRITE,
	STAND_COUNTS
};

/* The machine under an endpoint and its aliases. */
struct stand_nic {
	pthread_mutex_t lock; /* guards all below */
	struct stand_dom *dom;
	struct stand_av *av;
	struct stand_cq *tx_cq, *rx_cq;
	bool tx_selective, rx_selective;
	struct stand_cntr *cntrs[STAND_COUNTS];
	int n_handles;
	bool is_enabled;
	uint64_t caps;
	uint64_t rx_order;
	uint64_t rx_op_flags;
	size_t tx_len;
	size_t min_multi;
	struct stand_addr addr;

	int listen_fd, epoll_fd;
	pthread_t thread;
	bool has_thread;
	atomic_bool is_stopping;
	_Atomic uint64_t polled_at;
	struct stand_conn *conns;
	struct stand_conn **peers; /* indexed by fi_addr_t */
	size_t n_peers;

	uint64_t next_id;
	struct stand_op_list held; /* operations that wait for a doorbell */
	size_t n_held;
	size_t n_window; /* signalled operations that are not complete */
	size_t n_queued;
	unsigned long n_ops, n_doorbells;

	struct stand_mr *mrs;
	struct stand_pending *pending; /* sorted by due */
	atomic_bool has_due;	       /* a pending write becomes visible
					* without another call */
	struct stand_arrival *arrived, **arrived_tail;
	size_t inbox_len; /* bytes that arrived and were not received */
	struct stand_arrival
		*early[STAND_KINDS]; /* arrived before a receive was posted */
	struct stand_recv *posted[STAND_KINDS];
	struct stand_pull *pulls;
	unsigned random;
};

/* A handle: the endpoint, or an alias of it. */
struct stand_ep {
	struct fid_ep fid;
	struct stand_nic *nic;
	bool is_alias;
	uint64_t op_flags;
	uint64_t order;
	uint32_t tclass;
	struct fi_ops_msg *unused;
};

/* log.c */
void stand_env_init(void);
void stand_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Flags by name, joined by |, "0" for none. Returns buf. */
const char *stand_flags(uint64_t flags, char *buf, size_t len);
const char *stand_tclass(uint32_t tclass);
uint64_t stand_now_us(void);
/* True once in n calls, at random; never for n 0. */
bool stand_chance(struct stand_nic *nic, unsigned n);
unsigned stand_random(struct stand_nic *nic);

/* auth.c: determines the key that a domain uses. 0 or a negative libfabric
 * code.
 */
int stand_auth(const char *device, const void *key, size_t len,
	struct weft_cxi_auth_key *auth_out);
bool stand_has_device(const char *device);

/* info.c */
int stand_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info_out);

/* dom.c */
int stand_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **out, void *context);
int stand_no_bind(struct fid *fid, struct fid *with, uint64_t flags);
int stand_no_control(struct fid *fid, int command, void *arg);
int stand_no_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
	void *context);
/* Allocates a communication profile of the class. 0, or -FI_ENOSPC if no
 * profile of the hardware is free. */
int stand_profile(struct stand_dom *dom, uint32_t tclass, char type);

/* av.c */
int stand_av_open(struct fid_domain *dom, struct fi_av_attr *attr,
	struct fid_av **out, void *context);
bool stand_av_get(struct stand_av *av, fi_addr_t at, struct stand_addr *out);
fi_addr_t stand_av_find(struct stand_av *av, struct stand_addr addr);

/* cq.c, cntr.c */
int stand_cq_open(struct fid_domain *dom, struct fi_cq_attr *attr,
	struct fid_cq **out, void *context);
void stand_cq_put(
	struct stand_cq *cq, const struct fi_cq_tagged_entry *e, fi_addr_t src);
void stand_cq_put_err(struct stand_cq *cq, const struct fi_cq_err_entry *e);
void stand_cq_bind(struct stand_cq *cq, struct stand_nic *nic);
void stand_cq_unbind(struct stand_cq *cq, struct stand_nic *nic);
int stand_cntr_open(struct fid_domain *dom, struct fi_cntr_attr *attr,
	struct fid_cntr **out, void *context);
void stand_cntr_bind(struct stand_cntr *cntr, struct stand_nic *nic);
void stand_cntr_unbind(struct stand_cntr *cntr, struct stand_nic *nic);
/* Counts a complete operation of that kind. */
void stand_count(struct stand_nic *nic, enum stand_count what, bool is_error);
void stand_cntr_step(struct stand_cntr *cntr, bool is_error);

/* mr.c */
extern struct fi_ops_mr stand_mr_ops;
/* True if writes with the key may use the fast path. */
bool stand_key_is_optimized(const struct stand_dom *dom, uint64_t key);
/* Finds the registration for an access. NULL, and the reason in *status. */
struct stand_mr *stand_mr_find(struct stand_nic *nic,
	const struct stand_frame *f, size_t len, int *status);

/* hmem.c: device memory; no lock held */
/* Registers the memory of mr as the attributes demand. 0, or a negative
 * libfabric code: the memory, the iface and the device do not agree. */
int stand_hmem_register(struct stand_mr *mr, const struct fi_mr_attr *attr);
void stand_hmem_close(struct stand_mr *mr);
const char *stand_hmem_name(const struct stand_mr *mr);
/* Returns the registration of device memory that a message uses, with a
 * reference for stand_hmem_unuse(). NULL: host memory. Ends the program if a
 * card could not access the memory. */
struct stand_mr *stand_hmem_use(struct stand_nic *nic, const char *call,
	const void *at, size_t len, void *desc, uint64_t flags);
void stand_hmem_unuse(struct stand_mr *mr);
/* Ends the program if the memory is device memory. */
void stand_hmem_refuse(const char *call, const void *at, size_t len);
/* The card's access to the memory, nic.lock held. Ends the program if the
 * registration is closed. */
void stand_hmem_read(struct stand_mr *mr, void *to, const void *at, size_t len);
void stand_hmem_write(
	struct stand_mr *mr, void *at, const void *from, size_t len);

/* nic.c: the endpoint */
int stand_ep_open(struct fid_domain *dom, struct fi_info *info,
	struct fid_ep **out, void *context);

/* tx.c: posting. stand_post() owns the op, also after a failure. */
struct stand_op *stand_op_new(struct stand_ep *ep, fi_addr_t peer,
	uint64_t flags, void *context, enum stand_type type);
/* Sets the payload of an op. Copies it if the flags contain FI_INJECT. */
int stand_op_data(struct stand_op *op, const void *buf, size_t len);
ssize_t stand_post(struct stand_ep *ep, struct stand_op *op);
void stand_op_free(struct stand_op *op);
void stand_op_complete(struct stand_op *op, int status);
void stand_ring(struct stand_nic *nic);
void stand_list_init(struct stand_op_list *list);
void stand_list_add(struct stand_op_list *list, struct stand_op *op);
/* Returns the flags for calls without a flags argument. */
uint64_t stand_call_flags(const struct stand_ep *ep);

/* wire.c: sockets; nic.lock is held. */
int stand_wire_open(struct stand_nic *nic);
void stand_wire_close(struct stand_nic *nic);
void stand_wire_pump(struct stand_nic *nic);
struct stand_conn *stand_wire_peer(struct stand_nic *nic, fi_addr_t peer);
/* Starts all operations that the connection permits. */
void stand_wire_push(struct stand_conn *conn);
/* Answers a request. Takes ownership of data. */
void stand_wire_ack(struct stand_conn *conn, const struct stand_frame *request,
	int status, void *data, size_t len);
void stand_wire_resume(struct stand_nic *nic);

/* target.c: accesses of other processes to this process's memory; nic.lock is
 * held. */
void stand_target(struct stand_conn *conn, char *data);
/* stand_target_settle() makes the writes visible whose delay is over.
 * stand_target_flush() makes all writes visible that arrived over a connection,
 * or that go to a registration (NULL: any). */
void stand_target_settle(struct stand_nic *nic);
void stand_target_flush(
	struct stand_nic *nic, struct stand_conn *conn, struct stand_mr *mr);
/* Called when a connection closes. Its writes that are not visible yet remain
 * pending. */
void stand_target_forget(struct stand_nic *nic, struct stand_conn *conn);

/* rx.c: receiving; nic.lock is held unless a comment states otherwise. */
void stand_rx_arrive(struct stand_conn *conn, char *data);
void stand_rx_progress(struct stand_nic *nic);
void stand_rx_forget(struct stand_nic *nic, struct stand_conn *conn);
void stand_rx_fini(struct stand_nic *nic);
ssize_t stand_rx_cancel(struct stand_nic *nic, void *context);
extern struct fi_ops_msg stand_msg_ops;
extern struct fi_ops_tagged stand_tagged_ops;
/* Posts a receive. Called without nic.lock. */
ssize_t stand_rx_post(struct stand_ep *ep, int kind, struct stand_recv *want);

/* rma.c, amo.c */
extern struct fi_ops_rma stand_rma_ops;
extern struct fi_ops_atomic stand_atomic_ops;
int stand_query_atomic(struct fid_domain *dom, enum fi_datatype type,
	enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags);

/* alu.c */
size_t stand_type_len(enum fi_datatype type);
bool stand_can_amo(enum fi_datatype type, enum fi_op op);
bool stand_can_fetch(enum fi_datatype type, enum fi_op op);
bool stand_can_compare(enum fi_datatype type, enum fi_op op);
/* Executes an atomic operation; stores the previous value in old. */
void stand_amo(enum fi_datatype type, enum fi_op op, void *at,
	const void *operand, const void *compare, void *old);
/* Stores bytes so that a process that polls the last one sees all of them. */
void stand_store(void *to, const void *from, size_t len);

#endif
