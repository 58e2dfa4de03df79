# SPDX-License-Identifier: BSD-3-Clause
check_PROGRAMS += test/launch/boot_probe
