# SPDX-License-Identifier: BSD-3-Clause
# lane: nodes made of namespaces, for the other scripts of this folder (sourced)
#
# A node n0, n1, ... is a network namespace with its own address on a bridge,
# and a process in it that holds its own host name, SysV IPC and /dev/shm.
# All nodes share /tmp, like a parallel file system. The bridge is in a
# namespace of its own, so the host's interfaces are not changed.
#
# The caller sets lane (its short name), prefix (of the namespaces) and net (the
# first three numbers of the addresses).

state=${TMPDIR:-/tmp}/weft-lane-$lane

# The tests on the host set these for the loopback interface and mpiexec. The
# nodes have interfaces and launchers of their own.
unset FI_TCP_IFACE MPIEXEC

say() { echo "lane $lane: $*"; }
die() { say "$*" >&2; exit 1; }

# namespaces need root: run the whole command again through sudo if we are not
lane_root() {
	[ "$(id -u)" = 0 ] && return
	command -v sudo >/dev/null || die "needs root or sudo"
	exec sudo -E env "PATH=$PATH" "$0" "$@"
}

# lane_install PROGRAM PACKAGE...: Debian packages, if PROGRAM is missing
lane_install() {
	program=$1
	shift
	command -v "$program" >/dev/null || [ -e "$program" ] && return
	command -v apt-get >/dev/null ||
		die "$program is missing; install $* or their equals"
	say "installing $*"
	{ [ -n "$(ls /var/lib/apt/lists 2>/dev/null)" ] || apt-get -qq update; } &&
		DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
			--no-install-recommends "$@" >"$state.apt" 2>&1 ||
		die "cannot install $*: $(tail -n 2 "$state.apt" 2>/dev/null)"
	rm -f "$state.apt"
}

# lane_mirror: the Debian mirror of this host
lane_mirror() {
	uri=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' \
		/etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
	[ -n "$uri" ] || uri=$(awk '/^deb / {
		for (i = 2; i <= NF; i++) if ($i ~ /^https?:/) { print $i; exit }
	}' /etc/apt/sources.list 2>/dev/null)
	echo "${uri:-http://deb.debian.org/debian}"
}

# lane_can: true if namespaces are possible here without a password
lane_can() {
	as=
	[ "$(id -u)" = 0 ] || as="sudo -n"
	command -v apt-get >/dev/null && $as unshare --net --uts --ipc --mount \
		true 2>/dev/null
}

lane_etc() { # node number, number of nodes
	dir=/etc/netns/$prefix-n$1
	mkdir -p "$dir"
	{
		echo "127.0.0.1 localhost"
		for k in $(seq 0 $(($2 - 1))); do
			echo "$net.$((10 + k)) n$k"
		done
	} >"$dir/hosts"
	echo "n$1" >"$dir/hostname"
	for what in passwd group shadow hosts networks protocols services; do
		echo "$what: files"
	done >"$dir/nsswitch.conf"
	: >"$dir/resolv.conf"
}

lane_node_up() { # node number, number of nodes
	ns=$prefix-n$1
	lane_etc "$1" "$2"
	ip netns add "$ns"
	ip -n "$ns" link set lo up
	ip -n "$ns" link add eth0 type veth peer name "p$1" netns "$prefix-sw"
	ip -n "$prefix-sw" link set "p$1" master br0 up
	ip -n "$ns" addr add "$net.$((10 + $1))/24" dev eth0
	ip -n "$ns" link set eth0 up
	# the process that holds the other namespaces of the node
	rm -f "$state/n$1.pid"
	setsid ip netns exec "$ns" unshare --uts --ipc sh -c '
		hostname "$1" && mount -t tmpfs -o mode=1777 tmpfs /dev/shm &&
		echo $$ >"$2" && exec sleep infinity' sh "n$1" \
		"$state/n$1.pid" </dev/null >"$state/n$1.log" 2>&1 &
	for _ in $(seq 1 1200); do
		[ -s "$state/n$1.pid" ] && return
		sleep 0.05
	done
	die "node n$1 does not start: $(cat "$state/n$1.log")"
}

# lane_nodes_up COUNT: creates the nodes and $state/on, which runs commands there
lane_nodes_up() {
	mkdir -p "$state"
	ip netns add "$prefix-sw"
	ip -n "$prefix-sw" link add br0 type bridge
	ip -n "$prefix-sw" link set lo up
	ip -n "$prefix-sw" link set br0 up
	for i in $(seq 0 $(($1 - 1))); do
		lane_node_up "$i" "$1"
	done
	cat >"$state/on" <<-END
		#!/bin/sh
		# on NODE COMMAND...: run it there, in this directory
		node=\$1
		shift
		exec nsenter -t "\$(cat $state/\$node.pid)" -n -u -i -m \\
			--wdns="\$PWD" "\$@"
	END
	nsenter --help 2>&1 | grep -q wdns || sed -i 's/--wdns=/--wd=/' "$state/on"
	chmod +x "$state/on"
}

lane_on() { "$state/on" "$@"; }

lane_namespaces() {
	ip netns list 2>/dev/null | awk '{ print $1 }' | grep "^$prefix-" || :
}

lane_pids() {
	for ns in $(lane_namespaces); do
		ip netns pids "$ns" 2>/dev/null
	done
}

# lane_nodes_down PID...: ends the processes of the nodes and the given ones;
# then removes the nodes and all files
lane_nodes_down() {
	for signal in TERM KILL; do
		for _ in $(seq 1 30); do
			left=
			for pid in $(lane_pids) "$@"; do
				kill -0 "$pid" 2>/dev/null && left="$left $pid"
			done
			[ -z "$left" ] && break 2
			# shellcheck disable=SC2086
			kill -$signal $left 2>/dev/null
			sleep 0.1
		done
	done
	for ns in $(lane_namespaces); do
		ip netns del "$ns"
		rm -rf "/etc/netns/${ns:?}"
	done
	rmdir /etc/netns 2>/dev/null
	rm -rf "$state"
}

# ---- a Debian in a directory ----

# lane_debian SUITE ROOT: a minimal Debian, with this host's access to its mirror
lane_debian() {
	[ -e "$2/etc/lane-complete" ] && return
	lane_install debootstrap debootstrap
	rm -rf --one-file-system "${2:?}"
	mkdir -p "$2"
	say "making a Debian $1 in $2"
	debootstrap --variant=minbase "$1" "$2" "$(lane_mirror)" >"$2.log" 2>&1 ||
		die "debootstrap: $(tail -n 3 "$2.log")"
	for file in resolv.conf hosts; do
		[ -e /etc/$file ] && cp -L /etc/$file "$2/etc/$file"
	done
	# proxies, clocks
	grep -lE '^ *Acquire::' /etc/apt/apt.conf.d/* 2>/dev/null |
		while read -r file; do
			cp "$file" "$2/etc/apt/apt.conf.d/"
		done
	rm -f "$2.log"
	touch "$2/etc/lane-complete"
}

# lane_mounted ROOT COMMAND...: runs it beside ROOT, in which the file systems
# of the kernel are mounted. The mounts are in a namespace that ends with the
# command, so they need no cleanup.
lane_mounted() {
	unshare --mount --pid --fork --kill-child sh -c '
		root=$1
		shift
		mount --make-rprivate / &&
		mount -t proc proc /proc &&
		mount -t proc proc "$root/proc" &&
		mount --rbind /sys "$root/sys" &&
		mount --rbind /dev "$root/dev" &&
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" || exit 1
		exec "$@"' sh "$@"
}

# lane_inside ROOT COMMAND...: runs it in ROOT, with an environment of its own
lane_inside() {
	lane_mounted "$1" chroot "$1" env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		DEBIAN_FRONTEND=noninteractive \
		${WEFT_CHECK_JOBS:+"WEFT_CHECK_JOBS=$WEFT_CHECK_JOBS"} "${@:2}"
}

export -f lane_mounted lane_inside

# lane_copy ROOT: the files that git lists of this checkout, as ROOT/weft
lane_copy() {
	top=$(cd "$here/../.." && pwd)
	mkdir -p "$1/weft"
	find "$1/weft" -mindepth 1 -maxdepth 1 ! -name build-check \
		-exec rm -rf {} +
	(cd "$top" && git -c safe.directory="$top" ls-files -z \
		--cached --others --exclude-standard |
		tar --null --files-from=- -cf - --ignore-failed-read) |
		tar -C "$1/weft" -xf - --no-same-owner
	[ -x "$1/weft/contrib/check" ] || die "no copy of $top in $1"
}

# lane_copy_root ROOT NAME: a copy of ROOT as $state/NAME
lane_copy_root() {
	rm -rf --one-file-system "${state:?}/${2:?}"
	cp -a "$1" "$state/$2"
}

# lane_files ROOT: its files, without the notes of the package managers
lane_files() {
	find "$1" -xdev -mindepth 1 \( -path "$1/proc" -o -path "$1/sys" \
		-o -path "$1/dev" -o -path "$1/tmp" -o -path "$1/packages" \
		-o -path "$1/var/lib/apt" -o -path "$1/var/cache" \
		-o -path "$1/var/lib/dpkg" -o -path "$1/var/lib/rpm" \
		-o -path "$1/root/.rpmdb" -o -path "$1/var/log" \) -prune \
		-o -print | sed "s|^$1||" | sort
}

# lane_quietly WHAT COMMAND...: its output is printed only if it fails
lane_quietly() {
	what=$1
	shift
	"$@" >"$state/log" 2>&1 </dev/null ||
		die "$what fails: $(tail -n 5 "$state/log"); see $state/log"
}

# ---- tests: one TAP line each ----
n_tests=0 n_failed=0

# lane_ok NAME WANTED-STATUS PATTERN COMMAND...: PATTERN (an extended regular
# expression, "" for any) has to match a line of the output. The time limit is
# $limit seconds, or 300. With $repeats, a run that reaches it runs once more.
lane_ok() {
	name=$1 want=$2 pattern=$3
	shift 3
	n_tests=$((n_tests + 1))
	code=0
	# a function that is exported
	[ "$(type -t "$1")" = function ] && set -- bash -c '"$@"' bash "$@"
	# appended: a process of an earlier test may still write to this file, and
	# would fill a gap before its offset with zero bytes
	: >"$state/out"
	timeout -k 5 "${limit:-300}" "$@" >>"$state/out" 2>&1 </dev/null || code=$?
	if [ "$code" = 124 ] && [ -n "${repeats:-}" ]; then
		echo "# $name: no end after $limit s; once more"
		code=0
		: >"$state/out"
		timeout -k 5 "$limit" "$@" >>"$state/out" 2>&1 </dev/null || code=$?
	fi
	if [ "$code" = "$want" ] &&
		{ [ -z "$pattern" ] || grep -qE "$pattern" "$state/out"; }; then
		echo "ok $n_tests $name"
		return
	fi
	n_failed=$((n_failed + 1))
	echo "not ok $n_tests $name (exit $code, wanted $want)"
	head -n 30 "$state/out" | sed 's/^/#   /'
}

# lane_suite BUILD LAUNCHER FOLDER PATTERN...: runs of $state/list; their TAP is
# part of the lane's
lane_suite() {
	build=$1 launcher=$2 folder=$3
	shift 3
	# in parallel with other steps, with several processes on a core
	suite=$(WEFT_TEST_SLOW=${WEFT_TEST_SLOW:-3} MPIEXEC=$launcher "$here/../../test/run-multi" --env shm \
		--bin "$build/test/$folder" --list "$state/list" "$@" 2>&1) || :
	echo "$suite" | grep -v '^1\.\.' |
		sed "s/^ok [0-9]*/ok - $lane:/; s/^not ok [0-9]*/not ok - $lane:/"
	n_tests=$((n_tests + $(echo "$suite" | grep -c '^ok ')))
	bad=$(echo "$suite" | grep '^not ok' | grep -vc '# TODO')
	n_tests=$((n_tests + bad))
	n_failed=$((n_failed + bad))
}

# lane_multi BUILD LAUNCHER LEFT-OUT: the multi-process suite without
# - lines with options of Weft's mpiexec,
# - world_exit and mpix_abort, whose exit status depends on the manager,
# - lines that match the extended regular expression LEFT-OUT.
lane_multi() {
	few=
	[ -n "${quick:-}" ] && few="p2p_modes p2p_order coll_moves comm_make
		ses_life ses_psets ses_comms ses_always"
	grep -vE "^(world_exit|mpix_abort) |launch=|$3" "$here/../../test/multi/list" \
		>"$state/list"
	# shellcheck disable=SC2086
	lane_suite "$1" "$2" multi $few
}

# lane_shmem BUILD LAUNCHER: the OpenSHMEM suite. A PE accesses some PEs through
# shared memory and others through the fabric. Omitted are runs of one PE, runs
# about the setup of the program, and exit=, which depends on the manager.
lane_shmem() {
	left='^[a-z_]* 1( |$)|^sma_(setup|tool|cxx) |launch=|exit='
	# runs of two PEs and of these programs take a minute altogether
	[ -n "${quick:-}" ] && left="$left|^[a-z_]* 2|^sma_(sweep|mpi|heap|thr) "
	grep -vE "$left" "$here/../../test/shmem/list" >"$state/list"
	lane_suite "$1" "$2" shmem
}

# lane_exit BUILD LAUNCHER: the status of a job that a process ends. After such
# an end, prterun 3 rarely waits for ever in PMIx_server_finalize(): libpmix's own
# thread waits for a lock. No process of the job is left then.
lane_exit() {
	[ -x "$1/test/shmem/sma_setup" ] || return
	[ "$lane" = prrte ] && limit=100 repeats=1
	for how in last all busy; do
		lane_ok "global exit with 0, called by or beside: $how" 0 '' \
			"$2" run -N 2 -n 4 "$1/test/shmem/sma_setup" exit=0 "of=$how"
	done
	for value in 42 255 256; do # lane_ok has a variable "code"
		expected=$((value > 255 ? 1 : value))
		lane_ok "global exit with $value" $expected '' "$2" run -N 2 \
			-n 4 "$1/test/shmem/sma_setup" "exit=$value"
		lane_ok "MPI_Abort with $value" $expected '' "$2" run -N 2 -n 4 \
			"$1/test/multi/world_exit" how=abort who=1 "code=$value"
	done
	unset limit repeats
}

# lane_hpcg ROOT BEFORE: compiles HPCG in ROOT, and runs it with 4 processes. The
# directory $HPCG has its source. BEFORE are shell commands that find mpicxx.
lane_hpcg() {
	if [ ! -d "${HPCG-}/setup" ]; then
		n_tests=$((n_tests + 1))
		echo "ok $n_tests HPCG # SKIP set HPCG to a directory with its source"
		return
	fi
	cp -R "$HPCG" "$1/hpcg"
	lane_ok "HPCG" 0 'HPCG result is VALID' lane_inside "$1" bash -ec "$2"'
		mkdir /hpcg/weft
		cd /hpcg/weft
		../configure Linux_MPI
		make CXX=mpicxx arch=Linux_MPI
		cd bin
		mpiexec -n 4 ./xhpcg 16 16 16 10
		cat HPCG-Benchmark*.txt'
	sed -n 's/^Final Summary::HPCG result is/# &/p' "$state/out"
	rm -rf "${1:?}/hpcg"
}

lane_verdict() {
	echo "$((n_tests - n_failed)) passed, $n_failed failed"
	[ "$n_failed" = 0 ]
}
