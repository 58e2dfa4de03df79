# SPDX-License-Identifier: BSD-3-Clause
# gen-api: writes aliases, lists and the export map from the rows

function die(why)
{
	printf "gen-api: %s:%d: %s\n", FILENAME, FNR, why > "/dev/stderr"
	failed = 1
	exit 1
}

function has(flags, flag)
{
	return index("," flags ",", "," flag ",") > 0
}

# The name of the file that mpi_<file>.c includes.
function file_of(file)
{
	if (!(file in started))
		print "/* made by gen-api */\n#include \"mpi/mpi_widen.h\"" > \
			(new "/api_" file ".h")
	started[file] = 1
	return new "/api_" file ".h"
}

function alias(file, name, prefix)
{
	printf "extern __typeof__(P%s_%s) %s_%s __attribute__((weak, " \
		"alias(\"P%s_%s\"), visibility(\"default\")));\n",
		prefix, name, prefix, name, prefix, name > file
}

BEGIN {
	list = new "/api_list.h"
	map = new "/mpi_abi.map"
	profile = new "/mpi_profile.h"
	print "/* made by gen-api */" > list
	print "/* made by gen-api; included by mpi.h */" > profile
	print "{\nglobal:" > map
}

# Reads mpi.h: one prototype per line.
FNR == NR {
	if (match($0, /^[A-Za-z_]+ MPI_[A-Za-z0-9_]+\(.*\);/)) {
		text = substr($0, 1, RLENGTH)
		name = substr($2, 5, index($2, "(") - 5)
		prototype[name] = text
	}
	next
}

$1 == "chapter" { next }

# Extensions, whose prototypes are in mpix.h. Those without arguments in the
# table are in mpi_mpix.c.
$1 == "MPIX" {
	sub(/^MPIX\t/, "")
	file = NF > 1 ? $5 : "mpix"
	if (NF > 1 && has($7, "checked"))
		checked(file_of(file), "int PMPIX_" $1 "(" $9 ")",
			"\"MPIX_" $1 "\"")
	alias(file_of(file), $1, "MPIX")
	printf "\tMPIX_%s;\n\tPMPIX_%s;\n", $1, $1 > map
	next
}

{
	name = $1
	text = $8 " MPI_" name "(" $9 ");"
	if (!(name in prototype))
		die("no prototype of MPI_" name)
	if (prototype[name] != text)
		die("mpi.h and mpi_api.def differ:\n\t" prototype[name] "\n\t" text)
	seen[name] = 1
	if ($5 == "-")
		die("MPI_" name " has no file that implements it")
	if (has($7, "widen"))
		widen_pair(file_of($5), name)
	else if (has($7, "checked"))
		checked(file_of($5), "int PMPI_" name "(" $9 ")",
			"\"MPI_" name "\"")
	alias(file_of($5), name, "MPI")
	if ($8 == "MPI_Fint" || $9 ~ /MPI_Fint|MPI_F08_status/)
		beyond_abi = beyond_abi $8 " PMPI_" name "(" $9 ");\n"
	else
		printf "%s PMPI_%s(%s);\n", $8, name, $9 > profile
	printf "{ \"MPI_%s\", \"%s\", 1 },\n", name, $6 > list
	printf "\tMPI_%s;\n\tPMPI_%s;\n", name, name > map
}

END {
	if (failed)
		exit 1
	for (name in prototype)
		if (!(name in seen))
			die("MPI_" name " has a prototype but no line")
	printf "#ifndef WEFT_STRICT_ABI\n%s#endif\n", beyond_abi > profile
	# mpi_attr.h
	print "\tweft_f_*;\nlocal:\n\t*;\n};" > map
}
