# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += \
	src/base/bits.h \
	src/base/clock.h \
	src/base/counter.c src/base/counter.h src/base/counter.def \
	src/base/event.c src/base/event.h src/base/event.def \
	src/base/err.c src/base/err.h src/base/err.def \
	src/base/handle.c src/base/handle.h \
	src/base/hash.c src/base/hash.h \
	src/base/knob.c src/base/knob.h src/base/knobs.def \
	src/base/list.h \
	src/base/lock.c src/base/lock.h \
	src/base/log.c src/base/log.h \
	src/base/map.c src/base/map.h \
	src/base/memfd.c src/base/memfd.h \
	src/base/pid.c src/base/pid.h \
	src/base/quad.h \
	src/base/input.c src/base/input.h \
	src/base/interval.c src/base/interval.h \
	src/base/plain.c src/base/plain.h \
	src/base/suggest.c src/base/suggest.h \
	src/base/word.h \
	src/base/yield.c src/base/yield.h \
	src/base/op.h
EXTRA_DIST += src/base/README.md src/base/knobs.sed src/base/counter.sed
unit_tests += test/unit/yield_test
unit_tests += test/unit/counter_test
unit_tests += test/unit/err_test
unit_tests += test/unit/handle_test
unit_tests += test/unit/hash_test
unit_tests += test/unit/knob_test
unit_tests += test/unit/lock_test
unit_tests += test/unit/log_test
unit_tests += test/unit/map_test
unit_tests += test/unit/input_test
unit_tests += test/unit/interval_test
unit_tests += test/unit/word_test
