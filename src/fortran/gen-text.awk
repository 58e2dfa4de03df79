# SPDX-License-Identifier: BSD-3-Clause
# gen-text: reads the two inputs of gen-fortran into tables

function die(why)
{
	printf "gen-fortran: %s:%d: %s\n", FILENAME, FNR, why > "/dev/stderr"
	failed = 1
	exit 1
}

function has(flags, flag)
{
	return index("," flags ",", "," flag ",") > 0
}

function is_handle(t)
{
	return index(" " handles " ", " " t " ") > 0
}

function from_hex(text,    i, value)
{
	value = 0
	for (i = 3; i <= length(text); i++)
		value = value * 16 + \
			index("0123456789abcdef", tolower(substr(text, i, 1))) - 1
	return value
}

# A constant of mpi.h: its value and its type.
function constant(name, text)
{
	sub(/[ \t]*\/\*.*/, "", text)
	gsub(/[ \t]/, "", text)
	if (name ~ /^MPI_(T|F)_/ || name !~ /^MPIX?_[A-Z0-9]/)
		return
	if (match(text, /^\(\(MPI_[A-Za-z]+\)0x[0-9a-f]+\)$/)) {
		sub(/^\(\(MPI_/, "", text)
		kind = substr(text, 1, index(text, ")") - 1)
		value[name] = from_hex(substr(text, index(text, ")") + 1,
			length(text) - index(text, ")") - 1))
		as[name] = kind == "Datatype" ? "Type" : kind
	} else if (text ~ /^\(?-?[0-9]+\)?$/) {
		gsub(/[()]/, "", text)
		# in C a length counts the final zero
		value[name] = name ~ /^MPI_MAX_/ ? text - 1 : text
		as[name] = "int"
	} else if (match(text, /^\(\(MPI_Offset\)-1\)$/)) {
		value[name] = -1
		as[name] = "offset"
	} else if (text in value) {
		value[name] = value[text]
		as[name] = as[text]
	} else {
		return
	}
	constants[++n_constants] = name
}

# The Fortran type of a type of the table.
function type_in_fortran(t)
{
	if (t ~ /^(num|rank|tag|root|keyval|count|fstatus)$/)
		return "int"
	if (t == "count_c")
		return "large"
	if (t == "vbool")
		return "bool"
	if (t == "f08status")
		return "Status"
	if (t == "attr")
		return has(flags, "f77") ? "int" : "aint"
	sub(/\*$/, "", t)
	return t
}

# "name>type(length)&" becomes the parts of argument i of the procedure.
function argument(i, text,    at)
{
	if (!match(text, /[:>=]/))
		die("not an argument: " text)
	arg[i] = substr(text, 1, RSTART - 1)
	mode[i] = substr(text, RSTART, 1)
	text = substr(text, RSTART + 1)
	async[i] = sub(/&$/, "", text)
	at = index(text, "(")
	len[i] = ""
	if (at) {
		len[i] = substr(text, at + 1, length(text) - at - 1)
		text = substr(text, 1, at - 1)
	}
	if (text == "fstatus")
		len[i] = "MPI_STATUS_SIZE"
	text = type_in_fortran(text)
	type[i] = text
	if (text !~ /^fn\./ && !is_handle(text) && text !~ known_types)
		die("no type " text)
	if (text ~ /^(buf|loc)$/)
		choice = 1
	if (text ~ /^(str|key|words)$/)
		strings = strings " " arg[i]
}

# The arguments of a row, without those that Fortran lacks.
function read_arguments(    n, i, word)
{
	name = $1
	flags = $7
	n_args = 0
	choice = 0
	strings = ""
	n = $10 == "-" ? 0 : split($10, word, " ")
	for (i = 1; i <= n; i++)
		if (word[i] !~ /[:=]arg[cv]$/)
			argument(++n_args, word[i])
}

# True if the procedure returns memory, as an integer or a c_ptr.
function gives_address(    i)
{
	for (i = 1; i <= n_args; i++)
		if (type[i] == "cptr" && !has(flags, "handwritten"))
			return 1
	return 0
}
