# SPDX-License-Identifier: BSD-3-Clause
# gen-main: the program of gen-fortran, and the text that is the same each time

function types_module(    n, i, noun, word)
{
	print "! made by gen-fortran\nmodule weft_mpi_types\nimplicit none\nprivate" > types
	print "integer, parameter, public :: MPI_ADDRESS_KIND = 8, " \
		"MPI_COUNT_KIND = 8, MPI_OFFSET_KIND = 8, MPI_INTEGER_KIND = 4" > types
	print "type, bind(C), public :: MPI_Status\n\tinteger :: MPI_SOURCE, " \
		"MPI_TAG, MPI_ERROR\n\tinteger, private :: internal(5)\nend type" > types
	n = split(handles, word, " ")
	for (i = 1; i <= n; i++) {
		noun = word[i] == "Type" ? "Datatype" : word[i]
		printf "type, bind(C), public :: MPI_%s\n\tinteger :: MPI_VAL\n" \
			"end type\n", noun > types
		equal = equal "\tprocedure " noun "_eq\n"
		unequal = unequal "\tprocedure " noun "_ne\n"
	}
	print "public :: operator(==), operator(/=)" > types
	printf "interface operator(==)\n%send interface\n" \
		"interface operator(/=)\n%send interface\n", equal, unequal > types
	print "contains" > types
	for (i = 1; i <= n; i++) {
		noun = word[i] == "Type" ? "Datatype" : word[i]
		compare(noun, "eq", "==")
		compare(noun, "ne", "/=")
	}
	print "end module" > types
}

function compare(noun, verb, sign)
{
	printf "elemental logical function %s_%s(a, b)\n" \
		"\ttype(MPI_%s), intent(in) :: a, b\n" \
		"\t%s_%s = a%%MPI_VAL %s b%%MPI_VAL\nend function\n",
		noun, verb, noun, noun, verb, sign > types
}

# Constants that are known by their address.
function places(file, f08_form,    status, one)
{
	status = f08_form ? "type(MPI_Status) MPI_STATUS_IGNORE" : \
		"      integer MPI_STATUS_IGNORE(MPI_STATUS_SIZE)"
	one = f08_form ? "type(MPI_Status) MPI_STATUSES_IGNORE(1)" : \
		"      integer MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)"
	print status > file
	print one > file
	print "      integer MPI_BOTTOM, MPI_IN_PLACE" > file
	print "      integer MPI_BUFFER_AUTOMATIC" > file
	print "      integer MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1)" > file
	print "      integer MPI_ERRCODES_IGNORE(1)" > file
	print "      character*1 MPI_ARGV_NULL(1)" > file
	print "      character*1 MPI_ARGVS_NULL(1,1)" > file
	common(file, "bottom MPI_BOTTOM")
	common(file, "in_place MPI_IN_PLACE")
	common(file, "automatic MPI_BUFFER_AUTOMATIC")
	common(file, "status MPI_STATUS_IGNORE")
	common(file, "statuses MPI_STATUSES_IGNORE")
	common(file, "unweighted MPI_UNWEIGHTED")
	common(file, "no_weights MPI_WEIGHTS_EMPTY")
	common(file, "errcodes MPI_ERRCODES_IGNORE")
	common(file, "argv MPI_ARGV_NULL")
	common(file, "argvs MPI_ARGVS_NULL")
}

function common(file, text,    word)
{
	split(text, word, " ")
	printf "      common /weft_f_%s/ %s\n", word[1], word[2] > file
}

function promises(file)
{
	print "      logical MPI_SUBARRAYS_SUPPORTED" > file
	print "      logical MPI_ASYNC_PROTECTS_NONBLOCKING" > file
	print "      parameter (MPI_SUBARRAYS_SUPPORTED=.false.)" > file
	print "      parameter (MPI_ASYNC_PROTECTS_NONBLOCKING=.false.)" > file
}

function functions(file, p, x)
{
	printf "interface\n\tdouble precision function %sMPI_Wtime()\n" \
		"\tend function\n\tdouble precision function %sMPI_Wtick()\n" \
		"\tend function\n", p, p > file
	printf "\tfunction %sMPI_Aint_add(base, disp)\n\timport MPI_ADDRESS_KIND\n" \
		"\tinteger(kind=MPI_ADDRESS_KIND) :: %sMPI_Aint_add\n" \
		"\tinteger(kind=MPI_ADDRESS_KIND), intent(in) :: base, disp\n" \
		"\tend function\n", p, p > file
	printf "\tfunction %sMPI_Aint_diff(addr1, addr2)\n" \
		"\timport MPI_ADDRESS_KIND\n" \
		"\tinteger(kind=MPI_ADDRESS_KIND) :: %sMPI_Aint_diff\n" \
		"\tinteger(kind=MPI_ADDRESS_KIND), intent(in) :: addr1, addr2\n" \
		"\tend function\n", p, p > file
	printf "\tsubroutine %sMPI_Pcontrol(level)\n\tinteger, intent(in) :: level\n" \
		"\tend subroutine\nend interface\n", p > file
}

# Predefined callbacks; handle is the declaration of a handle.
function ready_made(file, noun, keep, handle, type_of_value,    n, i, word, name)
{
	n = split("NULL_COPY_FN DUP_FN", word, " ")
	for (i = 1; i <= n; i++) {
		name = "MPI_" noun word[i]
		printf "interface\nsubroutine %s(object, keyval, extra_state, " \
			"attribute_val_in, attribute_val_out, flag, ierror)\n" \
			"\timport\n\timplicit none\n\t%s :: object\n" \
			"\tinteger :: keyval, ierror\n\t%s :: extra_state, " \
			"attribute_val_in, attribute_val_out\n\tlogical :: flag\n" \
			"end subroutine\nend interface\n", name, handle,
			type_of_value > file
	}
	printf "interface\nsubroutine MPI_%sNULL_DELETE_FN(object, keyval, " \
		"attribute_val, extra_state, ierror)\n\timport\n" \
		"\timplicit none\n\t%s :: object\n\tinteger :: keyval, ierror\n" \
		"\t%s :: attribute_val, extra_state\nend subroutine\n" \
		"end interface\n", noun, handle, type_of_value > file
}

function attribute_functions(noun, arg, handle,    aint)
{
	aint = "integer(kind=MPI_ADDRESS_KIND)"
	printf "abstract interface\nsubroutine MPI_%s_copy_attr_function(old%s, " \
		"%s_keyval, extra_state, attribute_val_in, attribute_val_out, " \
		"flag, ierror)\n\timport\n\timplicit none\n\t%s :: old%s\n" \
		"\tinteger :: %s_keyval, ierror\n\t%s :: extra_state, " \
		"attribute_val_in, attribute_val_out\n\tlogical :: flag\n" \
		"end subroutine\n", noun, arg, tolower(noun), handle, arg,
		tolower(noun), aint > f08
	printf "subroutine MPI_%s_delete_attr_function(%s, %s_keyval, " \
		"attribute_val, extra_state, ierror)\n\timport\n" \
		"\timplicit none\n\t%s :: %s\n\tinteger :: %s_keyval, ierror\n" \
		"\t%s :: attribute_val, extra_state\nend subroutine\n" \
		"end interface\n", noun, arg, tolower(noun), handle, arg,
		tolower(noun), aint > f08
	ready_made(f08, toupper(noun) "_", 0, handle, aint)
	ready_made(f90, toupper(noun) "_", 0, "integer", aint)
}

function error_function(noun)
{
	printf "abstract interface\nsubroutine MPI_%s_errhandler_function(%s, " \
		"error_code)\n\timport\n\timplicit none\n\ttype(MPI_%s) :: %s\n" \
		"\tinteger :: error_code\nend subroutine\nend interface\n", noun,
		tolower(noun), noun, tolower(noun) > f08
}

function user_function(tail, kind)
{
	printf "abstract interface\nsubroutine MPI_User_function%s(invec, " \
		"inoutvec, len, datatype)\n\timport\n\timplicit none\n" \
		"\ttype(c_ptr), value :: invec, inoutvec\n\t%s :: len\n" \
		"\ttype(MPI_Datatype) :: datatype\nend subroutine\n" \
		"end interface\n", tail, kind > f08
}

# The interface of a conversion function, or of MPI_CONVERSION_FN_NULL.
function datarep_function(file, name, is_abstract, kind)
{
	printf "%sinterface\nsubroutine %s(userbuf, datatype, count, filebuf, " \
		"position, extra_state, ierror)\n\timport\n\timplicit none\n" \
		"\ttype(c_ptr), value :: userbuf, filebuf\n" \
		"\t%s :: datatype\n\t%s :: count\n" \
		"\tinteger(kind=MPI_OFFSET_KIND) :: position\n" \
		"\tinteger(kind=MPI_ADDRESS_KIND) :: extra_state\n" \
		"\tinteger :: ierror\nend subroutine\nend interface\n",
		is_abstract, name, file == f08 ? "type(MPI_Datatype)" : "integer",
		kind > file
}

function datarep_functions(    wide)
{
	wide = "integer(kind=MPI_COUNT_KIND)"
	datarep_function(f08, "MPI_Datarep_conversion_function", "abstract ", "integer")
	datarep_function(f08, "MPI_Datarep_conversion_function_c", "abstract ", wide)
	datarep_function(f08, "MPI_CONVERSION_FN_NULL", "", "integer")
	datarep_function(f08, "MPI_CONVERSION_FN_NULL_C", "", wide)
	datarep_function(f90, "MPI_CONVERSION_FN_NULL", "", "integer")
	datarep_function(f90, "MPI_CONVERSION_FN_NULL_C", "", wide)
	print "abstract interface\nsubroutine MPI_Datarep_extent_function(" \
		"datatype, extent, extra_state, ierror)\n\timport\n" \
		"\timplicit none\n\ttype(MPI_Datatype) :: datatype\n" \
		"\tinteger(kind=MPI_ADDRESS_KIND) :: extent, extra_state\n" \
		"\tinteger :: ierror\nend subroutine\nend interface" > f08
}

function callbacks()
{
	datarep_functions()
	user_function("", "integer")
	user_function("_c", "integer(kind=MPI_COUNT_KIND)")
	attribute_functions("Comm", "comm", "type(MPI_Comm)")
	attribute_functions("Type", "type", "type(MPI_Datatype)")
	attribute_functions("Win", "win", "type(MPI_Win)")
	ready_made(f90, "", 0, "integer", "integer")
	error_function("Comm")
	error_function("Session")
	error_function("Win")
	error_function("File")
	print "abstract interface\n" \
		"subroutine MPI_Grequest_query_function(extra_state, status, ierror)\n" \
		"\timport\n\timplicit none\n" \
		"\tinteger(kind=MPI_ADDRESS_KIND) :: extra_state\n" \
		"\ttype(MPI_Status) :: status\n\tinteger :: ierror\nend subroutine\n" \
		"subroutine MPI_Grequest_free_function(extra_state, ierror)\n" \
		"\timport\n\timplicit none\n" \
		"\tinteger(kind=MPI_ADDRESS_KIND) :: extra_state\n" \
		"\tinteger :: ierror\nend subroutine\n" \
		"subroutine MPI_Grequest_cancel_function(extra_state, complete, " \
		"ierror)\n\timport\n\timplicit none\n" \
		"\tinteger(kind=MPI_ADDRESS_KIND) :: extra_state\n" \
		"\tlogical :: complete\n\tinteger :: ierror\n" \
		"end subroutine\nend interface" > f08
}

# Procedures that are not in the table.
function others(p)
{
	functions(f08, p)
	functions(f90, p)
	printf "interface %sMPI_Sizeof\nsubroutine %sMPI_Sizeof_f08ts(x, size, " \
		"ierror) bind(C, name=\"%smpi_sizeof_f08ts_\")\n" \
		"\ttype(*), dimension(..) :: x\n\tinteger, intent(out) :: size\n" \
		"\tinteger, optional, intent(out) :: ierror\nend subroutine\n" \
		"end interface\n", p, p, tolower(p) > f08
	printf "interface %sMPI_Sizeof\nsubroutine %sMPI_Sizeof_f08ts(x, size, " \
		"ierror) bind(C, name=\"%smpi_sizeof_f08ts_\")\n" \
		"\ttype(*), dimension(..) :: x\n\tinteger, intent(out) :: size, " \
		"ierror\nend subroutine\nend interface\n", p, p, tolower(p) > f90
	printf "interface %sMPI_F_sync_reg\nsubroutine %sMPI_F_sync_reg_f08ts(buf) " \
		"bind(C, name=\"%smpi_f_sync_reg_f08ts_\")\n" \
		"\ttype(*), dimension(..), asynchronous :: buf\n" \
		"end subroutine\nend interface\n", p, p, tolower(p) > f08
	printf "interface %sMPI_F_sync_reg\nsubroutine %sMPI_F_sync_reg_f08ts(buf) " \
		"bind(C, name=\"%smpi_f_sync_reg_f08ts_\")\n" \
		"\ttype(*), dimension(..), asynchronous :: buf\n" \
		"end subroutine\nend interface\n", p, p, tolower(p) > f90
}

function old_externals(    n, i, word)
{
	print "      external MPI_WTIME, MPI_WTICK" > mpifh
	print "      external PMPI_WTIME, PMPI_WTICK" > mpifh
	print "      double precision MPI_WTIME, MPI_WTICK" > mpifh
	print "      double precision PMPI_WTIME, PMPI_WTICK" > mpifh
	print "      external MPI_AINT_ADD, MPI_AINT_DIFF" > mpifh
	print "      external PMPI_AINT_ADD, PMPI_AINT_DIFF" > mpifh
	print "      integer*8 MPI_AINT_ADD, MPI_AINT_DIFF" > mpifh
	print "      integer*8 PMPI_AINT_ADD, PMPI_AINT_DIFF" > mpifh
	print "      external MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL_C" > mpifh
	n = split("COMM_ TYPE_ WIN_ ", word, " ")
	word[++n] = ""
	for (i = 1; i <= n; i++) {
		printf "      external MPI_%sNULL_COPY_FN\n", word[i] > mpifh
		printf "      external MPI_%sDUP_FN\n", word[i] > mpifh
		printf "      external MPI_%sNULL_DELETE_FN\n", word[i] > mpifh
	}
}

function start_files()
{
	print "! made by gen-fortran\nmodule mpi_f08\nuse weft_mpi_types\n" \
		"use, intrinsic :: iso_c_binding, only: c_ptr\nimplicit none" > f08
	print "! made by gen-fortran\nmodule mpi\nuse weft_mpi_types\n" \
		"use, intrinsic :: iso_c_binding, only: c_ptr\nimplicit none" > f90
	print "private :: c_ptr" > f08
	print "private :: c_ptr" > f90
	print "! made by gen-fortran; valid in both source forms" > mpifh
	print "      integer MPI_STATUS_SIZE, MPI_SOURCE, MPI_TAG, MPI_ERROR" > mpifh
	print "      parameter (MPI_STATUS_SIZE=8)" > mpifh
	print "      parameter (MPI_SOURCE=1, MPI_TAG=2, MPI_ERROR=3)" > mpifh
	print "/* made by gen-fortran */\n#include \"fortran.h\"" > shims
	print "/* made by gen-fortran */" > hand_names
	print "/* made by gen-fortran */" > call_names
	types_module()
}

# All constants are known: writes them into the modules.
function start_bodies()
{
	print "integer, parameter :: MPI_STATUS_SIZE = 8" > f08
	print "integer, parameter :: MPI_SOURCE = 1, MPI_TAG = 2, " \
		"MPI_ERROR = 3" > f08
	declare_constants()
	promises(f08)
	promises(mpifh)
	places(f08, 1)
	places(mpifh, 0)
	print "include 'weft_mpi_const.h'" > f90
	close(mpifh)
	system("cp '" mpifh "' '" new "/weft_mpi_const.h'")
	print "      integer MPI_ADDRESS_KIND, MPI_COUNT_KIND" >> mpifh
	print "      integer MPI_OFFSET_KIND, MPI_INTEGER_KIND" >> mpifh
	print "      parameter (MPI_ADDRESS_KIND=8, MPI_COUNT_KIND=8)" >> mpifh
	print "      parameter (MPI_OFFSET_KIND=8, MPI_INTEGER_KIND=4)" >> mpifh
	old_externals()
	callbacks()
	others("")
	others("P")
	started = 1
}

function procedure()
{
	read_arguments()
	make_c()
	if (!has(flags, "f77"))
		make_f08()
	if (name !~ /_c$/)
		make_mpi()
}

BEGIN {
	handles = "Comm Datatype Errhandler File Group Info Message Op Request Session Win"
	known_types = "^(int|large|aint|offset|bool|Status|index|weights|buf|loc|cptr|str|key|words)$"
	sub(/Datatype/, "Type", handles)
	shims = new "/f_shims.c"
	hand_names = new "/f_names.h"
	call_names = new "/f_calls.h"
	types = new "/weft_mpi_types.f90"
	f08 = new "/mpi_f08.f90"
	f90 = new "/mpi.f90"
	mpifh = new "/mpif.h"
	start_files()
}

FNR == 1 { file_number++ }

file_number <= 2 && /^#define MPIX?_/ {
	text = $0
	sub(/^#define [A-Z0-9a-z_]+[ \t]*/, "", text)
	constant($2, text)
	next
}

file_number == 3 && $1 != "chapter" && !($1 == "MPIX" && NF == 2) {
	is_extension = sub(/^MPIX\t/, "")
	if (!started)
		start_bodies()
	if ($5 != "-" && (!has($7, "conly") || has($7, "fortran")))
		procedure()
}

END {
	if (failed)
		exit 1
	print "end module" > f08
	print "end module" > f90
	print "{\nglobal:\n\tmpi_*;\n\tpmpi_*;\n\tmpix_*;\n\tpmpix_*;\n\tweft_f_*_;\n" \
		"\t__weft_mpi_types_MOD_*;\n\t__mpi_*MOD_*;\nlocal:\n\t*;\n};" \
		> (new "/libweft_fortran.map")
}
