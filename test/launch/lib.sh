# SPDX-License-Identifier: BSD-3-Clause
# lib.sh: common functions of the tests of the launcher; sourced, TAP
build=${TEST_BUILDDIR:-$PWD}
mpiexec=$build/mpiexec
probe=$build/test/launch/boot_probe
work=$(mktemp -d) || exit 99
TMPDIR=$work/tmp
mkdir "$TMPDIR"
export TMPDIR WEFT_MPIEXEC=self
cd "$work" || exit 99
trap 'rm -rf "$work"' EXIT
n=0
code=none # exit status of the last run; none: it has not ended

verdict() { # status, name
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		echo "# exit $code; output:"
		head -c 2000 out | sed 's/^/#   /'
		echo "#" # the output may end without a newline
		head -c 2000 err | sed 's/^/#   /'
		echo "#"
	fi
}

skip() { # name, why
	n=$((n + 1))
	echo "ok $n # SKIP $1: $2"
}

run() {
	code=0
	WEFT_TEST_MARK=$work timeout -k 5 120 "$mpiexec" "$@" >out 2>err \
		</dev/null || code=$?
}

# is STATUS NAME: the last run ended with this status
is() { [ "$code" = "$1" ]; verdict $? "$2"; }
has() { grep -qE -- "$1" out err; verdict $? "$2"; }
hasnt() { ! grep -qE -- "$1" out err; verdict $? "$2"; }
same() { [ "$1" = "$2" ]; verdict $? "$3 (\"$1\", wanted \"$2\")"; }

# wait_for SECONDS COMMAND...
wait_for() {
	end=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt $end ] || return 1
		sleep 0.05
	done
}

start() { # in the background; pid in $launcher, output in out and err
	: >out
	: >err # empty at once, so that the output of the last run is not read
	WEFT_TEST_MARK=$work "$mpiexec" --timeout 100 "$@" >out 2>err </dev/null &
	launcher=$!
}
finish() {
	wait $launcher
	code=$?
}
n_lines() { [ "$(wc -l <out)" -ge "$1" ]; }
no_files() { [ -z "$(ls -A "$TMPDIR")" ]; }
