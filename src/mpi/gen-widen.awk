# SPDX-License-Identifier: BSD-3-Clause
# gen-widen: writes PMPI_X and PMPI_X_c, which call the same function

# Writes the int and the large-count form of one procedure, which differ only in
# the width of numbers. narrow and wide are their C arguments.
function widen_one(file, name, narrow, wide, rows,    n, i, x, part, broad, word,
	call, before, after, inner)
{
	n = split(narrow, part, ", ")
	split(wide, broad, ", ")
	split(rows, word, " ")
	for (i = 1; i <= n; i++) {
		match(part[i], /[A-Za-z0-9_]+(\[\])?$/)
		x = substr(part[i], RSTART)
		sub(/\[\]$/, "", x)
		if (part[i] != broad[i] && part[i] ~ /^int \*/) {
			before = before out_before(x, broad[i], word[i])
			after = after "\tweft_widen_put(rc, " x ", " x "_wide);\n"
			x = "weft_widen_at(" x ", &" x "_wide)"
		} else if (part[i] != broad[i] && part[i] ~ /^const int /) {
			before = before "\tconst int64_t *" x "_wide = weft_widen_array(" \
				length_of(word[i]) ", " x ");\n"
			after = after "\tweft_widen_free(" x ", " x "_wide);\n"
			x = x "_wide"
		}
		call = call ", " x
	}
	inner = inner_name(name)
	call = inner "(\"MPI_" name "\"" call ");\n"
	if (after == "")
		call = "\treturn " call
	else
		call = before "\tint rc = " call "\n" after "\treturn rc;\n"
	printf "%sint PMPI_%s(%s)\n{\n%s}\n", has($7, "hot") && \
		$3 !~ /^init/ && name !~ /_c$/ ? "__attribute__((flatten)) " : "",
		name, narrow, call > file
}

# The definition of a wide variable for "int *size", with the input value.
function out_before(x, broad, argument)
{
	sub(/ \*.*/, "", broad)
	return "\t" broad " " x "_wide = " (argument ~ /^[a-z_0-9]+=/ ? \
		"weft_widen_get(" x ")" : "0") ";\n"
}

# The function that both forms call: mpi_x(), or checked_x(), which checks first.
function inner_name(name)
{
	sub(/_c$/, "", name)
	return (has($7, "checked") ? "checked_" : "mpi_") tolower(name)
}

# Writes both forms when their second row is read.
function widen_pair(file, name)
{
	if (name ~ /_c$/) {
		if (has($7, "checked"))
			checked(file, "static inline int " inner_name(name) \
				"(const char *func, " $9 ")", "func")
		widen_one(file, last_name, last_args, $9, last_rows)
		widen_one(file, name, $9, $9, $10)
	}
	last_name = name
	last_args = $9
	last_rows = $10
}

function length_of(argument)
{
	sub(/^.*\(/, "", argument)
	sub(/\).*/, "", argument)
	return argument
}
