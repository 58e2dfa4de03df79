# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += \
	src/net/av.c \
	src/net/cq.c \
	src/net/ep.c \
	src/net/fabric.c \
	src/net/mr.c \
	src/net/net.h \
	src/net/net_priv.h \
	src/net/plan.c src/net/plan.h \
	src/net/prov.h
