# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/p2p/p2p.h src/p2p/p2p_priv.h src/p2p/match_priv.h \
	src/p2p/match.c src/p2p/message.c src/p2p/early.h src/p2p/early.c src/p2p/control.c \
	src/p2p/send_req.c src/p2p/batch.c src/p2p/failure_check.c src/p2p/departed.c src/p2p/departed_send.c \
	src/p2p/p2p.c src/p2p/send.c src/p2p/recv.c src/p2p/revoke.c src/p2p/revoke_send.c src/p2p/relay.c src/p2p/rndv.c \
	src/p2p/probe.c src/p2p/persist.c src/p2p/cancel.c src/p2p/flush.c \
	src/p2p/failure.c src/p2p/coll_error.c src/p2p/bsend.c src/p2p/sendrecv.c src/p2p/part.c \
	src/p2p/unmatched.c src/p2p/rndv_seg.c src/p2p/rndv_copy.c src/p2p/rndv_dev.c
unit_tests += test/unit/match_test test/unit/early_test
EXTRA_DIST += src/p2p/README.md
