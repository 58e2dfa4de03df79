# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/core/attr.c src/core/attr.h
libweft_la_SOURCES += src/core/child.h
libweft_la_SOURCES += src/core/errcode.c src/core/errcode.h
libweft_la_SOURCES += src/core/errh.c src/core/errh.h
libweft_la_SOURCES += src/core/info.c src/core/info.h
# unit_tests += test/unit/X_test
