# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/comm/agree.c src/comm/agree.h src/comm/blocked.c \
	src/comm/blocked.h src/comm/colors.c src/comm/colors.h \
	src/comm/comm_init.h src/comm/create.c src/comm/create.h \
	src/comm/derive.c src/comm/disconnect.c src/comm/disconnect.h \
	src/comm/ep_exchange.c src/comm/ep_exchange.h \
	src/comm/intercomm.c src/comm/leader.c src/comm/leader.h \
	src/comm/leak.c src/comm/leak.h src/comm/repair.c src/comm/repair.h
EXTRA_DIST += src/comm/README.md
unit_tests += test/unit/agree_test
unit_tests += test/unit/colors_test
unit_tests += test/unit/leader_test
