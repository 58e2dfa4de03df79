# SPDX-License-Identifier: BSD-3-Clause
libmpi_abi_la_SOURCES += \
	src/mpit/mpit.c src/mpit/mpit_priv.h \
	src/mpit/category.c src/mpit/cvar.c src/mpit/event_type.c \
	src/mpit/pvar.c src/mpit/registration.c
EXTRA_DIST += src/mpit/README.md
