# SPDX-License-Identifier: BSD-3-Clause
# gen-profile: the wrappers and the names

# The arguments of the row: has[name] is the type.
function read_arguments(    n, i, word, at)
{
	split("", has)
	n = split($10, word, " ")
	for (i = 1; i <= n; i++) {
		if (!match(word[i], /[:>=]/))
			continue
		at = substr(word[i], RSTART + 1)
		sub(/&$/, "", at)
		has[substr(word[i], 1, RSTART - 1)] = at
	}
}

# The names of the arguments, as the call passes them.
function passed(    n, i, word, list)
{
	if ($9 == "void")
		return ""
	n = split($9, word, /, */)
	for (i = 1; i <= n; i++) {
		sub(/(\[[0-9]*\])+$/, "", word[i])
		sub(/^.*[ *]/, "", word[i])
		list = list (i > 1 ? ", " : "") word[i]
	}
	return list
}

# Returns a C expression for the bytes that the process sends in the call; "" if
# the procedure passes no data. For scatters, these are the bytes that the
# process receives, because only the root sends. Sets keys, the arguments in the
# expression; "" if these include arrays.
function bytes(    sides, n, i, side, word, text, place, times)
{
	keys = ""
	if ($2 ~ /^(Fetch_and_op|Compare_and_swap)$/) {
		keys = "datatype"
		return "weft_profile_size(datatype)"
	}
	sides = "send/sendcount/sendtype -/count/datatype -/recvcount/datatype " \
		"origin_/origin_count/origin_datatype"
	if ($2 ~ /Scatterv?$/)
		sides = "recv/recvcount/recvtype"
	n = split(sides, side, " ")
	for (i = 1; i <= n; i++) {
		split(side[i], word, "/")
		if (!(word[2] in has) || !(word[3] in has) ||
		    has[word[2]] ~ /\(/ || has[word[3]] ~ /\(/)
			continue
		text = "(uint64_t)" word[2] " * weft_profile_size(" word[3] ")"
		keys = word[2] " " word[3]
		place = word[1] "buf"
		if ($4 != "coll" || !(place in has))
			place = ""
		if ($2 ~ /^Alltoall$/)
			times = "members"
		else if ($2 ~ /^Neighbor_/)
			times = "neighbors"
		if (place != "" && "recvcount" in has && has["recvcount"] !~ /\(/ &&
		    place == "sendbuf")
			text = "(sendbuf == MPI_IN_PLACE ? (uint64_t)recvcount * " \
				"weft_profile_size(recvtype) : " text ")"
		else if (place != "")
			text = "(" place " == MPI_IN_PLACE ? 0 : " text ")"
		if (place != "")
			keys = place == "sendbuf" && "recvcount" in has &&
				has["recvcount"] !~ /\(/ ? \
				"(sendbuf!=MPI_IN_PLACE?sendcount:recvcount) " \
				"(sendbuf!=MPI_IN_PLACE?sendtype:recvtype)" : \
				keys " (" place "==MPI_IN_PLACE)"
		if (times != "") {
			text = text " * weft_profile_" times "(comm)"
			keys = keys " comm"
		} else if ("partitions" in has) {
			text = text " * (uint64_t)partitions"
		}
		return text
	}
	keys = ""
	if ("sendtypes" in has)
		return sum("sendcounts, sendtypes, NULL")
	if ("sendcounts" in has && "sendtype" in has)
		return sum("sendcounts, NULL, sendtype")
	if ("recvcounts" in has && "datatype" in has)
		return sum("recvcounts, NULL, datatype")
	return ""
}

function is_large()
{
	return $1 ~ /_c$/ ? "true" : "false"
}

# The sum of the blocks of these arguments: counts, types and type.
function sum(blocks)
{
	if ($2 ~ /^Neighbor_/)
		return "weft_profile_neighbor_sum(" is_large() ", comm, " blocks ")"
	if (blocks ~ /^send/)
		blocks = "sendbuf == MPI_IN_PLACE ? NULL : " blocks
	return "weft_profile_sum(" is_large() ", weft_profile_members(comm), " blocks ")"
}

# True if the procedure may wait for a call of another process.
function waits()
{
	return ($4 == "coll" && $3 ~ /^run/) ||
		$1 ~ /^(Recv|Mrecv|Send|Ssend|Rsend|Sendrecv|Sendrecv_replace)(_c)?$/ ||
		$1 ~ /^(Probe|Mprobe|Wait|Waitall|Waitany|Waitsome)$/ ||
		$1 ~ /^Comm_(agree|shrink)$/ ||
		$1 ~ /^Win_(fence|start|complete|wait|lock|lock_all|unlock|unlock_all|flush|flush_all)$/
}

# True if the procedure waits for a message of one rank.
function receives()
{
	return waits() && "source" in has && "comm" in has
}

# The call of the next MPI_X.
function next_call()
{
	return sprintf("next.%s(%s)", $1, passed())
}

# Writes slow_X, the slow path: it measures the call and adds it to the record.
function slow(n_bytes,    init)
{
	init = $3 ~ /^init/ || $1 ~ /^P(send|recv)_init$/
	printf "\n__attribute__((noinline)) static int slow_%s(%s)\n{\n", $1, $9 > calls
	print "\tstruct weft_profile_call call;\n\tint rc;\n" > calls
	if ($1 == "Finalize")
		print "\tweft_profile_clock_end();" > calls
	printf "\tweft_profile_begin(&call, %d, __builtin_frame_address(0), %s);\n",
		n_names, receives() ? "source < 0" : "false" > calls
	if (receives())
		print "\tweft_profile_source(comm, source);" > calls
	if ($1 == "Request_free")
		print "\tweft_profile_forget(request);" > calls
	printf "\trc = %s;\n\tweft_profile_end(&call);\n", next_call() > calls
	if ($1 ~ /^Init(_thread)?$/)
		print "\tif (!rc)\n\t\tweft_profile_clock_begin();" > calls
	if ($1 ~ /^Start(all)?$/)
		printf "\tweft_profile_start(&call, %s);\n",
			$1 == "Start" ? "1, request" : "count, array_of_requests" > calls
	if (init) {
		if (n_bytes != "" && !("source" in has))
			printf "\tif (!rc)\n\t\tweft_profile_init(*request, comm, %s, %s);\n",
				"dest" in has ? "dest" : "MPI_PROC_NULL", n_bytes > calls
	} else if ("dest" in has && "comm" in has && n_bytes != "")
		printf "\tweft_profile_sent(&call, comm, dest, %s, %s);\n",
			"tag" in has ? "tag" : "sendtag", n_bytes > calls
	else if ("target_rank" in has && "win" in has && n_bytes != "")
		printf "\tweft_profile_put(&call, win, target_rank, %s);\n",
			n_bytes > calls
	else if (n_bytes != "" && !("source" in has))
		printf "\tweft_profile_bytes(&call, %s);\n", n_bytes > calls
	if ($4 == "coll" && $3 ~ /^run/ && "comm" in has)
		print "\tweft_profile_collective(&call, comm);" > calls
	if (!("source" in has) || !("comm" in has) || init)
		;
	else if ("buf" in has || "recvbuf" in has)
		printf "\tweft_profile_received(&call, comm, source, %s, %s, %s);\n",
			"tag" in has ? "tag" : "recvtag",
			"status" in has ? "rc ? NULL : status" : "NULL",
			waits() ? "true" : "false" > calls
	else if (waits())
		print "\tweft_profile_waited(&call, comm, source);" > calls
	if (n_keys)
		printf "\tweft_profile_key(&call, %s);\n", key_list() > calls
	print "\treturn rc;\n}" > calls
}

function key_list(    i, list)
{
	for (i = 1; i <= 4; i++)
		list = list (i > 1 ? ", " : "") (i <= n_keys ? "(uint64_t)" key[i] : "0")
	return list
}

# Writes MPI_X. Its fast path counts a call with the same keys as the last call
# of its site, and calls the next MPI_X. There is no fast path for procedures
# with arrays of counts, for Startall, and for procedures that create or free
# persistent requests.
function wrapper(    n_bytes, i)
{
	n_bytes = bytes()
	n_names++
	if ($3 ~ /^init/ || "source" in has && !("dest" in has) || $1 ~ /^P(send|recv)_init$/)
		keys = ""
	else if ("dest" in has && "comm" in has && keys != "")
		keys = keys " dest comm"
	else if ("target_rank" in has && "win" in has && keys != "")
		keys = keys " target_rank win"
	else if ($1 == "Start")
		keys = "(request?*request:MPI_REQUEST_NULL)"
	n_keys = split(keys, key, " ")
	slow(n_bytes)
	printf "\nint %s%s(%s)\n{\n", prefix, $1, $9 > calls
	if ($3 !~ /^init/ && $1 !~ /^(Startall|Request_free|Psend_init|Precv_init)$/ &&
	    (n_bytes == "" || "source" in has && !("dest" in has) || n_keys)) {
		print "\tstruct weft_profile_site *site = weft_profile_latest(" > calls
		printf "\t\t%d, __builtin_return_address(0));\n\n", n_names > calls
		printf "\tif (weft_likely(site" > calls
		for (i = 1; i <= n_keys; i++)
			printf " &&\n\t\t    site->key[%d] == (uint64_t)%s", i - 1, key[i] > calls
		if (receives())
			printf " && source >= 0" > calls
		print ")) {\n\t\tweft_profile_pass(site);" > calls
		if (receives())
			print "\t\tweft_profile_source(comm, source);" > calls
		printf "\t\treturn %s;\n\t}\n", next_call() > calls
	}
	printf "\treturn slow_%s(%s);\n}\n", $1, passed() > calls
	printf "\t{ \"%s%s\", %s, %s, %s },\n", prefix, $1, waits() ? "true" : "false",
		$1 ~ /^(Wait|Test)(all|any|some)?$/ ? "true" : "false",
		receives() ? "true" : "false" > names
}

# Writes the pointer to the next MPI_X.
function pointer()
{
	printf "\tint (*%s)(%s);\n", $1, $9 > next_h
	values = values sprintf("\t.%s = P%s%s,\n", $1, prefix, $1)
	slots = slots sprintf("\t{ \"%s%s\", &next.%s },\n", prefix, $1, $1)
}

BEGIN {
	next_h = new "/profile_next.h"
	print "/* made by gen-profile */\nstatic struct {" > next_h
	calls = new "/profile_calls.c"
	names = new "/profile_names.c"
	print "/* made by gen-profile */\n#include \"profile/profile_record.h\"\n\n#include <mpix.h>\n\n" \
		"#pragma GCC diagnostic ignored \"-Wdeprecated-declarations\"\n" \
		"#include \"profile_next.h\"\n\n" \
		"#pragma GCC visibility push(default)" > calls
	print "/* made by gen-profile */\n#include \"profile/profile.h\"\n\n" \
		"const struct weft_profile_name weft_profile_names[] = {\n" \
		"\t{ \"other call sites\", false, false, false }," > names
}

FILENAME == ARGV[2] { prefix = sub(/^MPIX\t/, "") ? "MPIX_" : "MPI_" }

FILENAME == ARGV[2] && ($1 == "chapter" || NF == 1 || $8 != "int" || $4 ~ /^(convert|tool)$/ || $9 ~ /\.\.\./) { next }

FILENAME == ARGV[2] {
	read_arguments()
	pointer()
	wrapper()
}

END {
	printf "} next = {\n%s};\n\n", values > next_h
	printf "static const struct weft_profile_slot slots[] = {\n%s};\n", slots > next_h
	print "\n__attribute__((constructor)) static void find_next(void)\n{" \
		"\n\tweft_profile_find_next(slots, sizeof(slots) / sizeof(*slots));" \
		"\n}" > calls
	print "\n#pragma GCC visibility pop" > calls
	print "};\n\nconst uint32_t weft_profile_n_names =\n" \
		"\tsizeof(weft_profile_names) / sizeof(*weft_profile_names);\n" \
		"_Static_assert(sizeof(weft_profile_names) / sizeof(*weft_profile_names) <=\n" \
		"\tWEFT_PROFILE_PROCEDURES, \"a table has an entry for each procedure\");" > names
}
