# SPDX-License-Identifier: BSD-3-Clause
# gen-profile-shmem: the wrappers of OpenSHMEM's procedures, from pshmem.h

function shmem_passed(args,    n, i, word, list)
{
	n = args == "void" ? 0 : split(args, word, /, */)
	for (i = 1; i <= n; i++) {
		sub(/^.*[ *]/, "", word[i])
		list = list (i > 1 ? ", " : "") word[i]
	}
	return list
}

# The bytes of one item. Typed procedures have a pointer to the type; the names
# of the others have the bits.
function shmem_item(name, args)
{
	if (match(name, /(put|get|collect|alltoalls?|broadcast)[0-9]+/)) {
		name = substr(name, RSTART, RLENGTH)
		gsub(/[^0-9]/, "", name)
		return name / 8
	}
	if (args ~ /void \*(dest|source)/)
		return 1
	if (args ~ / \*?dest/)
		return "sizeof(*dest)"
	return args ~ /\*source/ ? "sizeof(*source)" : 0
}

# The bytes that the call passes; "" if it passes none.
function shmem_bytes(name, args)
{
	if (args ~ /nelems/)
		return "(uint64_t)nelems * " shmem_item(name, args)
	if (args ~ /nreduce/)
		return "(uint64_t)nreduce * " shmem_item(name, args)
	if (name ~ /(_p|_g|_atomic_.*|_finc|_fadd|_cswap|_swap|_add|_inc)$/ &&
	    args ~ /int pe$/)
		return shmem_item(name, args)
	return ""
}

function shmem_waits(name)
{
	return name ~ /wait|barrier|sync|quiet|broadcast|collect|alltoall|reduce|_to_all|set_lock|_get|_g$|fetch|swap/ &&
		name !~ /_nbi$|sync_size/
}

# Writes the wrapper. Its fast path is for calls with the same number of
# elements and the same PE as the last call of the site.
function shmem_wrapper(result, name, args,    is_void, n_bytes, pe, n, call, number)
{
	is_void = result == "void "
	n_bytes = shmem_bytes(name, args)
	n = args ~ /nelems/ ? "nelems" : args ~ /nreduce/ ? "nreduce" : ""
	pe = n_bytes != "" && args ~ /int pe$|int pe,/
	call = "shmem_next.f_" name "(" shmem_passed(args) ")"
	number = ++n_names
	printf "\t%s(*f_%s)(%s);\n", result, name, args > shmem_next
	shmem_slots = shmem_slots sprintf("\t{ \"%s\", &shmem_next.f_%s },\n", name, name)
	printf "\n__attribute__((noinline)) static %sslow_%s(%s)\n{\n", result, name,
		args > shmem_calls
	print "\tstruct weft_profile_call call_;\n" > shmem_calls
	printf "\tweft_profile_begin(&call_, %d, __builtin_frame_address(0), false);\n",
		number > shmem_calls
	printf "\t%s%s;\n", is_void ? "" : result "value_ = ", call > shmem_calls
	print "\n\tweft_profile_end(&call_);" > shmem_calls
	if (pe)
		printf "\tweft_profile_pe(&call_, pe, %s);\n", n_bytes > shmem_calls
	else if (n_bytes != "")
		printf "\tweft_profile_bytes(&call_, %s);\n", n_bytes > shmem_calls
	if (n != "" || pe)
		printf "\tweft_profile_key(&call_, %s, %s, 0, 0);\n",
			n != "" ? "(uint64_t)" n : "0", pe ? "(uint64_t)pe" : "0" > shmem_calls
	print (is_void ? "" : "\treturn value_;\n") "}" > shmem_calls
	# in brackets: shmem.h has macros of some names
	printf "\n%s(%s)(%s)\n{\n", result, name, args > shmem_calls
	print "\tstruct weft_profile_site *site_ = weft_profile_latest(" > shmem_calls
	printf "\t\t%d, __builtin_return_address(0));\n\n\tif (weft_likely(site_%s%s)) {\n",
		number, n != "" ? " && site_->key[0] == (uint64_t)" n : "",
		pe ? " && site_->key[1] == (uint64_t)pe" : "" > shmem_calls
	printf "\t\tweft_profile_pass(site_);\n\t\t%s%s;\n%s\t}\n", is_void ? "" : "return ", call,
		is_void ? "\t\treturn;\n" : "" > shmem_calls
	printf "\t%sslow_%s(%s);\n}\n", is_void ? "" : "return ", name,
		shmem_passed(args) > shmem_calls
	printf "\t{ \"%s\", %s, false, false },\n", name, shmem_waits(name) ? "true" : "false" > names
}

# Starts part 0 to 3 of the wrappers. The parts compile in parallel.
function shmem_start(part)
{
	shmem_part = part
	shmem_calls = new "/profile_shmem_" part ".c"
	shmem_next = new "/profile_shmem_next_" part ".h"
	shmem_slots = ""
	print "/* made by gen-profile */\n#include \"profile/profile_record.h\"\n\n" \
		"#include <shmem.h>\n#include \"profile_shmem_next_" part ".h\"\n\n" \
		"#pragma GCC diagnostic ignored \"-Wdeprecated-declarations\"\n" \
		"#pragma GCC visibility push(default)" > shmem_calls
	print "/* made by gen-profile */\nstatic struct {" > shmem_next
}

function shmem_end()
{
	printf "} shmem_next;\n\nstatic const struct weft_profile_slot " \
		"shmem_slots[] = {\n%s};\n", shmem_slots > shmem_next
	print "\n#pragma GCC visibility pop" > shmem_calls
	print "\n__attribute__((constructor)) static void find_shmem(void)\n{" \
		"\n\tweft_profile_find_next(\n\t\tshmem_slots, " \
		"sizeof(shmem_slots) / sizeof(*shmem_slots));\n}" > shmem_calls
}

BEGIN {
	shmem_start(0)
}

# Procedures get a wrapper if they are not variadic, and not queries, which take
# less time than a record of them.
/^WEFT_SHMEM_API .*pshmem_[a-z0-9_]*\(.*\);$/ && !/\.\.\./ &&
!/pshmem_(my_pe|n_pes|pe_accessible|addr_accessible|ptr|query_[a-z]*|info_[a-z_]*|team_my_pe|team_n_pes)\(/ {
	line = substr($0, length("WEFT_SHMEM_API ") + 1)
	at = index(line, "(")
	head = substr(line, 1, at - 1)
	if (n_wrapped++ >= 470 * (shmem_part + 1) && shmem_part < 3) {
		shmem_end()
		shmem_start(shmem_part + 1)
	}
	args = substr(line, at + 1)
	sub(/\);$/, "", args)
	at = match(head, /pshmem_[a-z0-9_]*$/)
	shmem_wrapper(substr(head, 1, at - 1), substr(head, at + 1), args)
}

END {
	shmem_end()
}
