# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/boot/boot.h
# unit_tests += test/unit/X_test
