#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# autogen: make configure from configure.ac (needs autoconf, automake, libtool)
set -e
cd "$(dirname "$0")"
mkdir -p m4 config
exec autoreconf --install --force --warnings=all,no-portability "$@"
