# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/rma/rma.h
EXTRA_DIST += src/rma/README.md
