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

# An expression for the bytes that the call passes, "" if unknown. The root
# scatters what the others receive, so there the receiver's numbers count.
function bytes(    sides, n, i, side, word, text)
{
	if ($3 ~ /^init/)
		return ""
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
		if ((word[1] "buf") in has)
			text = word[1] "buf == MPI_IN_PLACE ? 0 : " text
		return text
	}
	if ($2 ~ /^(Fetch_and_op|Compare_and_swap)$/)
		return "weft_profile_size(datatype)"
	return ""
}

# True if another process must do its part before the call ends.
function waits()
{
	return ($4 == "coll" && $3 ~ /^run/) ||
		$1 ~ /^(Recv|Mrecv|Send|Ssend|Rsend|Sendrecv|Sendrecv_replace)(_c)?$/ ||
		$1 ~ /^(Probe|Mprobe|Wait|Waitall|Waitany|Waitsome)$/ ||
		$1 ~ /^Win_(fence|start|complete|wait|lock|lock_all|unlock|unlock_all|flush|flush_all)$/
}

function wrapper(    n_bytes)
{
	n_bytes = bytes()
	printf "\nint MPI_%s(%s)\n{\n", $1, $9 > calls
	print "\tuint64_t start = weft_profile_now();" > calls
	printf "\tint rc = next.%s(%s);\n", $1, passed() > calls
	printf "\tstruct weft_profile_site *site = weft_profile_add(%d,\n" \
		"\t\t__builtin_frame_address(0), start);\n\n", ++n_names > calls
	if ("dest" in has && "comm" in has && n_bytes != "")
		printf "\tweft_profile_sent(site, comm, dest, %s, %s);\n",
			"tag" in has ? "tag" : "sendtag", n_bytes > calls
	else if ("target_rank" in has && "win" in has && n_bytes != "")
		printf "\tweft_profile_put(site, win, target_rank, %s);\n",
			n_bytes > calls
	else if (n_bytes != "" && !("source" in has))
		printf "\tweft_profile_bytes(site, %s);\n", n_bytes > calls
	else
		print "\t(void)site;" > calls
	if ($4 == "coll" && $3 ~ /^run/ && "comm" in has)
		print "\tweft_profile_collective(site, comm);" > calls
	if (!("source" in has) || !("comm" in has) || $3 ~ /^init/)
		;
	else if ("buf" in has || "recvbuf" in has)
		printf "\tweft_profile_received(comm, source, %s, %s, %s);\n",
			"tag" in has ? "tag" : "recvtag",
			"status" in has ? "rc ? NULL : status" : "NULL",
			waits() ? "start" : "0" > calls
	else if (waits())
		print "\tweft_profile_waited(comm, source, start);" > calls
	print "\treturn rc;\n}" > calls
	printf "\t{ \"MPI_%s\", %s, %s },\n", $1, waits() ? "true" : "false",
		$1 ~ /^(Wait|Test)(all|any|some)?$/ ? "true" : "false" > names
}

# The pointer to the next MPI_X.
function pointer()
{
	printf "\tint (*%s)(%s);\n", $1, $9 > next_h
	values = values sprintf("\t.%s = PMPI_%s,\n", $1, $1)
	slots = slots sprintf("\t{ \"MPI_%s\", &next.%s },\n", $1, $1)
}

BEGIN {
	next_h = new "/profile_next.h"
	print "/* made by gen-profile */\nstatic struct {" > next_h
	calls = new "/profile_calls.c"
	names = new "/profile_names.c"
	print "/* made by gen-profile */\n#include \"profile/profile_record.h\"\n\n" \
		"#pragma GCC diagnostic ignored \"-Wdeprecated-declarations\"\n" \
		"#include \"profile_next.h\"\n\n" \
		"#pragma GCC visibility push(default)" > calls
	print "/* made by gen-profile */\n#include \"profile/profile.h\"\n\n" \
		"const struct weft_profile_name weft_profile_names[] = {\n" \
		"\t{ \"other call sites\", false, false }," > names
}

FILENAME == ARGV[2] && ($1 == "chapter" || $1 == "MPIX" || $8 != "int" || $4 ~ /^(convert|tool)$/ || $9 ~ /\.\.\./) { next }

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
		"\tsizeof(weft_profile_names) / sizeof(*weft_profile_names);" > names
}
