# SPDX-License-Identifier: BSD-3-Clause
# gen-checked: writes PMPI_X, which checks its arguments and calls mpi_x()
#
# The object of the call is checked first, because errors are raised on it (on a
# group's session, if the call has only groups). Then each argument is checked
# by its type, in the order of the table.

# The library's noun for a type; weft_check_<noun>() checks it.
function noun_of(type)
{
	return type == "Op" ? "redop" : type == "Type" ? "type" : \
		type == "Request" ? "req" : type == "Errhandler" ? "errh" : \
		tolower(type)
}

function null_of(type)
{
	return type == "Type" ? "MPI_DATATYPE_NULL" : "MPI_" toupper(type) "_NULL"
}

function is_object(type)
{
	return type ~ /^(Comm|Errhandler|Group|Info|Op|Request|Session|Type|Win|File)$/
}

# Adds a check.
function check(text, where)
{
	checks = checks (checks == "" ? "\n" : "") "\tif (!failed" \
		(where == "" ? "" : " && " where) ")\n\t\tfailed = " text ";\n"
}

# Adds the check of an input object, by value or by address.
function check_object(x, mode, type,    how)
{
	if (mode == "=")
		check("weft_check_ptr(" x ", \"" x "\")")
	how = type == "Type" && has_buffer ? "type_ready" : \
		type == "Op" ? "op" : noun_of(type)
	if (type == "Info" && $4 != "info" && $1 !~ /_set_info$/)
		how = "info_or_null"
	x = (mode == "=" ? "*" : "") x ", "
	if (type == "Errhandler")
		x = x "WEFT_KIND_" toupper(substr($1, 1, index($1, "_") - 1)) ", "
	check("weft_check_" how "(" x "&" objects[n_objects] ")")
}

# Adds a local variable for an object, which the body gets instead of the
# handle.
function add_object(x, mode, type,    of)
{
	of = x (mode == ">" ? "_made" : "_of")
	locals = locals "\tstruct weft_" noun_of(type) " *" of " = NULL;\n"
	objects[++n_objects] = of
	if (mode == ">") {
		nulls = nulls "\tweft_mpi_null(" x ", " null_of(type) ");\n"
		check("weft_check_ptr(" x ", \"" x "\")")
		results = results "\t\t*" x " = " handle_of(of, type) ";\n"
		return "&" of
	}
	check_object(x, mode, type)
	if (mode == "=" && $1 ~ /_free$/)
		results = results "\t\t*" x " = " null_of(type) ";\n"
	return of
}

function handle_of(of, type)
{
	if (type == "Comm" || $1 == "Type_get_value_index")
		return of " ? weft_mpi_" noun_of(type) "_handle(" of ") : " null_of(type)
	if (type == "Type" && has($7, "widen"))
		return "weft_widen_type(func, " of ")"
	return "weft_mpi_" (type == "Op" ? "op" : noun_of(type)) "_handle(" of ")"
}

function check_number(x, type)
{
	if (type ~ /^count/)
		check("weft_check_range(WEFT_ERR_COUNT, \"" x "\", " x ", 0, INT64_MAX)")
	else if (type == "num")
		check("weft_check_range(WEFT_ERR_" (x == "ndims" ? "DIMS" : "ARG") \
			", \"" x "\", " x ", 0, INT32_MAX)")
	else if (type == "tag" && owner_type == "Comm")
		check("weft_check_tag_send(" x ")")
	else if (type == "root")
		check("weft_check_root(" owner "_of, " x ")")
	else if (type == "rank" && owner_type == "Comm")
		check("weft_check_range(WEFT_ERR_RANK, \"" x "\", " x ", 0, " \
			owner "_of->size - 1)")
	else if (type == "rank" && owner_type == "Win")
		check("weft_check_target(" owner "_of, \"" x "\", " x ")")
}

# Adds the check of an address. That of an array is checked if its length is not
# 0.
function check_address(x, mode, type, len,    name)
{
	name = x == "indx" ? "index" : x
	if (type ~ /^(weights|words|key|loc|opaque)$/ && mode != ">" || \
		type == "weights" || type == "Status" && mode == ">" || \
		type == "attr" && mode == ":" || type == "buf" || \
		tolower(type) ~ /^fn\..*(copy|delete)/)
		return
	if (type ~ /^fn\./)
		x = "(const void *)(uintptr_t)" x
	if (type == "str" || len == "")
		check("weft_check_ptr(" x ", \"" name "\")")
	else if (len ~ /^[a-z]/ && len !~ /^max/)
		check("weft_check_ptr(" x ", \"" name "\")", len " > 0")
}

# Checks the buffer and the count that precede a type.
function check_buffer(i)
{
	if (i > 2 && a_type[i] == "Type" && a_type[i - 1] ~ /^count/ && \
		a_type[i - 2] == "buf")
		check("weft_check_buf(" a_name[i - 2] ", " a_name[i - 1] ", " \
			a_name[i] "_of)")
}

# Reads the row: a_name (as C has it), a_mode, a_type, a_len.
function read_row(    i, word, c, at)
{
	has_buffer = 0
	owner = owner_type = ""
	n_args = $10 == "-" ? 0 : split($10, word, " ")
	split($9, c, ", ")
	for (i = 1; i <= n_args; i++) {
		match(word[i], /[:>=]/)
		a_mode[i] = substr(word[i], RSTART, 1)
		a_type[i] = substr(word[i], RSTART + 1)
		sub(/&$/, "", a_type[i])
		at = index(a_type[i], "(")
		a_len[i] = at ? substr(a_type[i], at + 1, length(a_type[i]) - at - 1) : ""
		sub(/^3,/, "", a_len[i])
		if (at)
			a_type[i] = substr(a_type[i], 1, at - 1)
		sub(/[][3]*$/, "", c[i])
		match(c[i], /[A-Za-z0-9_]+$/)
		a_name[i] = substr(c[i], RSTART)
		if (a_type[i] == "buf")
			has_buffer = 1
		if (a_mode[i] == ">" || a_len[i] != "")
			continue
		if ((owner == "" || owner_type == "Group") && \
			a_type[i] ~ /^(Comm|Session|Win|File)$/ || \
			owner == "" && a_type[i] == "Group") {
			owner = a_name[i]
			owner_type = a_type[i]
		}
	}
}

function check_argument(i,    x)
{
	x = a_name[i]
	if (is_object(a_type[i]) && a_len[i] == "") {
		pass[i] = add_object(x, a_mode[i], a_type[i])
		check_buffer(i)
		return
	}
	pass[i] = x
	if (a_mode[i] == ":" && a_len[i] == "" && \
		a_type[i] !~ /^(str|key|buf|loc|attr|opaque|Status|words|fn\..*)$/)
		check_number(x, a_type[i])
	else
		check_address(x, a_mode[i], a_type[i], a_len[i])
}

# Writes a procedure. head is "int PMPI_X(...)" or, with the flag "widen", the
# function that both forms call.
function checked(file, head, func_text,    i, call, inner)
{
	locals = nulls = checks = results = ""
	n_objects = 0
	read_row()
	for (i = 1; i <= n_args; i++)
		if (a_name[i] == owner)
			check_argument(i)
	for (i = 1; i <= n_args; i++)
		if (a_name[i] != owner)
			check_argument(i)
	for (i = 1; i <= n_args; i++)
		call = call (i > 1 ? ", " : "") pass[i]
	inner = tolower($1)
	if (has($7, "widen"))
		sub(/_c$/, "", inner)
	if (has($7, "always"))
		checks = checks "\tif (" owner "_of)\n\t\tfailed = mpi_" inner \
			"(failed, " call ");\n"
	else
		check("mpi_" inner "(" call ")")
	printf "%s\n{\n%s\tint failed = 0;\n\n%s%s", head, locals, nulls, \
		substr(checks, 2) > file
	if (results != "")
		printf "\tif (!failed) {\n%s\t}\n", results > file
	printf "\treturn weft_mpi_end%s(%s, %s, failed);\n}\n", \
		owner_type ~ /^(Session|Win|File|Group)$/ ? "_" tolower(owner_type) : "",
		owner == "" ? "NULL" : owner "_of", func_text > file
}
