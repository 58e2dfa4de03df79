# SPDX-License-Identifier: BSD-3-Clause
# gen-shmem.awk: called by gen-shmem; reads shmem_types.def and shmem_api.def
# and writes into the directory `new`

function die(why)
{
	printf "gen-shmem: %s:%d: %s\n", FILENAME, FNR, why > "/dev/stderr"
	failed = 1
	exit 1
}

function trim(s)
{
	gsub(/^[ \t]+|[ \t]+$/, "", s)
	return s
}

function replace(s, word, by,	out, at, before, after)
{
	out = ""
	while ((at = index(s, word)) > 0) {
		before = at == 1 ? "" : substr(s, at - 1, 1)
		after = substr(s, at + length(word), 1)
		out = out substr(s, 1, at - 1)
		out = out (before ~ /[A-Za-z0-9_]/ || after ~ /[A-Za-z0-9_]/ ? \
			word : by)
		s = substr(s, at + length(word))
	}
	return out s
}

# "TYPE *dest, int pe" to "dest, pe"
function names_of(args,	n, i, part, list, name)
{
	if (args == "void")
		return ""
	n = split(args, part, ",")
	list = ""
	for (i = 1; i <= n; i++) {
		name = part[i]
		sub(/^.*[ *]/, "", name)
		list = list (i > 1 ? ", " : "") name
	}
	return list
}

function n_args(args,	part)
{
	return args == "void" ? 0 : split(args, part, ",")
}

# Declares and defines one procedure. prefix is "shmem_", "shmemx_" or "".
function emit(name, args, res, body,	proto, full)
{
	full = prefix name
	if (full in seen)
		die(full " is made twice")
	seen[full] = 1
	proto = (res ~ /\*$/ ? res : res " ")
	if (prefix != "shmemx_")
		print "WEFT_SHMEM_API " proto full "(" args ")" \
			(is_noreturn ? " WEFT_SHMEM_NORETURN" : "") ";" \
			> protos
	print "WEFT_SHMEM_API " proto "p" full "(" args ")" \
		(is_noreturn ? " WEFT_SHMEM_NORETURN" : "") ";" > pheader
	if (body != "-") {
		body = replace(body, "FN", "\"" full "\"")
		gsub(/; /, ";\n\t", body)
		printf "\n%sp%s(%s)\n{\n\t%s;\n}\n", proto, full, args, body \
			> file
	}
	printf "extern __typeof__(p%s) %s __attribute__((weak, alias(\"p%s\")," \
		" visibility(\"default\")%s));\n", full, full, full,
		is_noreturn ? ", noreturn" : "" > file
	printf "{ \"%s\", %d },\n", full, is_deprecated > list
	printf "\t%s;\n\tp%s;\n", full, full > map
}

# The plain form and, with flag c, the one on a context.
function emit_both(name, args, res, body,	with)
{
	with = "shmem_ctx_t ctx" (args == "void" ? "" : ", " args)
	emit(name, args, res, replace(body, "CTX", "SHMEM_CTX_DEFAULT"))
	if (has_ctx)
		emit("ctx_" name, with, res, replace(body, "CTX", "ctx"))
}

function fill(text, type, size, number, is_signed)
{
	text = replace(text, "TYPE", type)
	text = replace(text, "SIZE", size)
	text = replace(text, "NUMBER", number)
	text = replace(text, "SIGNED", is_signed)
	text = replace(text, "TEAM", "get_team(" "FN" ", team)")
	return replace(text, "SET", \
		"get_set(" "FN" ", PE_start, logPE_stride, PE_size)")
}

function signed_word(type)
{
	return type ~ /^unsigned/ ? "false" : "true"
}

function is_in(i, wanted,	k)
{
	for (k = 1; k <= length(wanted); k++)
		if (index(" " sets[i] " ", " " substr(wanted, k, 1) " "))
			return 1
	return 0
}

# Type-generic forms in C11, selected by the type of the first pointer's target.
function generic_c(stem, args, wanted,	n, i, part, at, head, picks, picks_ctx, \
	done)
{
	n = split(args, part, ",")
	for (at = 1; at <= n; at++)
		if (part[at] ~ /TYPE \*/)
			break
	head = ""
	for (i = 1; i <= at; i++)
		head = head "a" i ", "
	picks = ""
	picks_ctx = ""
	for (i = 1; i <= n_types; i++) {
		if (!is_in(i, wanted) || done[canonical[i]]++)
			continue
		picks = picks (picks == "" ? "" : ", ") "\\\n\t" canonical[i] \
			": shmem_" tname[i] "_" stem
		picks_ctx = picks_ctx (picks_ctx == "" ? "" : ", ") "\\\n\t" \
			canonical[i] ": shmem_ctx_" tname[i] "_" stem
	}
	if (!has_ctx) {
		printf "#define shmem_%s(%s...) _Generic(*(a%d), %s)" \
			"(%s__VA_ARGS__)\n", stem, head, at, picks, head \
			> generics
		return
	}
	printf "#define weft_shmem_%s_%d(%s...) _Generic(*(a%d), %s)" \
		"(%s__VA_ARGS__)\n", stem, n, head, at, picks, head > generics
	printf "#define weft_shmem_%s_%d(c, %s...) _Generic(*(a%d), %s)" \
		"(c, %s__VA_ARGS__)\n", stem, n + 1, head, at, picks_ctx, head \
		> generics
	printf "#define shmem_%s(...) weft_shmem_pick(weft_shmem_%s_, " \
		"__VA_ARGS__)\n", stem, stem > generics
}

# In C++: overloads.
function generic_cxx(stem, args, wanted, res,	i, done, a, r, ret)
{
	for (i = 1; i <= n_types; i++) {
		if (!is_in(i, wanted) || done[canonical[i]]++)
			continue
		if (stem == "wait_until" && tname[i] == "long")
			continue # the old procedure is this one
		a = replace(args, "TYPE", canonical[i])
		r = replace(res, "TYPE", canonical[i])
		ret = r == "void" ? "" : "return "
		printf "inline %s shmem_%s(%s) { %sshmem_%s_%s(%s); }\n", r, \
			stem, a, ret, tname[i], stem, names_of(a) > overloads
		if (has_ctx)
			printf "inline %s shmem_%s(shmem_ctx_t ctx, %s) " \
				"{ %sshmem_ctx_%s_%s(ctx, %s); }\n", r, stem, \
				a, ret, tname[i], stem, names_of(a) > overloads
	}
}

BEGIN {
	FS = "|"
	protos = new "/prototypes.part"
	generics = new "/generics.part"
	overloads = new "/overloads.part"
	pheader = new "/pshmem.h"
	list = new "/api_shmem_list.h"
	map = new "/libsma.map"
	print "/* made by gen-shmem */" > list
	print "{\nglobal:" > map
	print "\tSHMEM_TEAM_WORLD;\n\tSHMEM_TEAM_SHARED;" > map
	print "\tSHMEMX_TEAM_NODE;" > map
	print "/* SPDX-License-Identifier: BSD-3-Clause */" > pheader
	print "/* pshmem: the profiling names of OpenSHMEM's procedures */" \
		> pheader
	print "#ifndef PSHMEM_H\n#define PSHMEM_H\n\n#include <shmem.h>\n" \
		> pheader
	print "#ifdef __cplusplus\n#pragma GCC system_header\n" \
		"extern \"C\" {\n#endif\n" > pheader
	n_types = 0
}

/^TYPE\(/ {
	line = substr($0, 6)
	sub(/\)$/, "", line)
	if (split(line, field, ", ") != 5)
		die("not TYPE(name, type, type, number, sets): " $0)
	i = ++n_types
	tname[i] = field[1]
	ctype[i] = field[2]
	canonical[i] = field[3]
	number[i] = field[4]
	sets[i] = field[5]
	next
}

/^[a-z]+ \|/ {
	if (NF != 7)
		die(NF " fields, not 7: " $0)
	chapter = trim($1)
	flags = trim($2)
	wanted = trim($3)
	res = trim($4)
	name = trim($5)
	args = trim($6)
	body = trim($7)
	stem = name
	sub(/\*/, "", stem)
	mem = name
	sub(/\*/, "mem", mem)
	has_ctx = flags ~ /c/
	is_deprecated = flags ~ /d/
	is_noreturn = flags ~ /n/
	prefix = flags ~ /x/ ? "shmemx_" : flags ~ /o/ ? "" : "shmem_"
	file = new "/api_shmem_" chapter ".h"
	if (!(file in begun)) {
		begun[file] = 1
		print "/* made by gen-shmem */\n#pragma GCC diagnostic " \
			"ignored \"-Wunused-parameter\"" > file
	}
	if (wanted == "-" && flags !~ /e/)
		emit_both(name, args, res, fill(body, "void", "1", "0", "0"))
	for (i = 1; wanted != "-" && i <= n_types; i++) {
		if (!is_in(i, wanted))
			continue
		is_deprecated = flags ~ /d/ || \
			(wanted ~ /h/ && is_in(i, "h"))
		emit_both(tname[i] "_" stem, fill(args, ctype[i]), \
			fill(res, ctype[i]), \
			fill(body, ctype[i], "sizeof(" ctype[i] ")", \
				number[i], signed_word(canonical[i])))
	}
	for (bits = 8; flags ~ /[ze]/ && bits <= 128; bits *= 2) {
		if (flags ~ /e/ && bits != 32 && bits != 64)
			continue
		sized = name
		sub(/\*/, bits, sized)
		emit_both(sized, fill(args, "void"), res, \
			fill(body, "void", "(size_t)" bits / 8, "0", "false"))
	}
	if (flags ~ /m/)
		emit_both(mem, fill(args, "void"), res, \
			fill(body, "void", "(size_t)1", "0", "false"))
	if (flags ~ /g/ && wanted != "-") {
		generic_c(stem, args, wanted)
		generic_cxx(stem, args, wanted, res)
	}
	next
}

/^[a-z]/ { die("not a line of the table: " $0) }

END {
	if (failed)
		exit 1
	print "local:\n\t*;\n};" > map
	print "\n#ifdef __cplusplus\n}\n#endif\n#endif" > pheader
}
