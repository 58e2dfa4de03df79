# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += \
	prov/cxi_ext.h \
	prov/prov_all.h \
	prov/prov_cxi.c \
	prov/prov_shm.c \
	prov/prov_sockets.c \
	prov/prov_table.c \
	prov/prov_tcp.c \
	prov/prov_verbs.c \
	prov/slingshot.c prov/slingshot.h
EXTRA_DIST += prov/README.md

unit_tests += test/unit/slingshot_test
test_unit_slingshot_test_SOURCES = test/unit/slingshot_test.c
