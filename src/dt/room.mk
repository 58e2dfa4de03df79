# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += \
	src/dt/builtin.def \
	src/dt/external.c \
	src/dt/flat.c src/dt/flat.h \
	src/dt/pack.c src/dt/pack.h \
	src/dt/redop.c src/dt/redop.h src/dt/redop.def \
	src/dt/type.c src/dt/type.h \
	src/dt/type_make.c
EXTRA_DIST += src/dt/README.md
unit_tests += test/unit/pack_test
unit_tests += test/unit/type_test
test_unit_pack_test_SOURCES = test/unit/pack_test.c test/unit/typeref.h
test_unit_type_test_SOURCES = test/unit/type_test.c test/unit/typeref.h
unit_tests += test/unit/redop_test
