# SPDX-License-Identifier: BSD-3-Clause
# gen-f90: the Fortran side of a procedure, and the constants

function f_dims(i,    l)
{
	l = len[i]
	if (l == "" || type[i] == "str")
		return ""
	if (l == "peers" || (l ~ /degree$/ && type[i] == "Type"))
		l = "*"
	return "(" l ")"
}

function f_type(i, f08,    t)
{
	t = type[i]
	if (is_handle(t))
		return f08 ? "type(MPI_" (t == "Type" ? "Datatype" : t) ")" : "integer"
	if (t == "Status")
		return f08 || name ~ /^Status_f/ ? "type(MPI_Status)" : "integer"
	if (t == "bool")
		return "logical"
	if (t ~ /^(str|key|words)$/)
		return "character(len=*)"
	if (t == "large")
		return "integer(kind=MPI_COUNT_KIND)"
	if (t == "offset")
		return "integer(kind=MPI_OFFSET_KIND)"
	if (t == "aint")
		return "integer(kind=MPI_ADDRESS_KIND)"
	if (t == "cptr")
		return "type(c_ptr)"
	return "integer"
}

function f_intent(i)
{
	# MPI_STATUS_IGNORE is passed here, which is not a variable of the caller
	if (mode[i] == ">" && type[i] == "Status")
		return ""
	return ", intent(" (mode[i] == ":" ? "in" : mode[i] == ">" ? "out" : \
		"inout") ")"
}

function f08_declare(file, i,    t)
{
	t = type[i]
	if (t ~ /^(buf|loc)$/)
		printf "\ttype(*), dimension(..)%s%s :: %s\n",
			mode[i] == ":" && t != "loc" ? ", intent(in)" : "",
			async[i] || t == "loc" ? ", asynchronous" : "", arg[i] > file
	else if (t ~ /^fn\./)
		printf "\tprocedure(MPI_%s) :: %s\n", substr(t, 4),
			arg[i] > file
	else
		printf "\t%s%s%s :: %s%s\n", f_type(i, 1),
			t == "weights" && mode[i] == ">" ? "" : f_intent(i),
			async[i] ? ", asynchronous" : "", arg[i], f_dims(i) > file
}

# An argument for memory of the library: an integer or, with as_pointer, a c_ptr;
# of any type if a buffer for sends is detached.
function mpi_declare(file, i, as_pointer,    t)
{
	t = type[i]
	if (t ~ /^(buf|loc)$/ || (t == "cptr" && has(flags, "handwritten"))) {
		printf "\t!GCC$ ATTRIBUTES NO_ARG_CHECK :: %s\n", arg[i] > file
		printf "\ttype(*) :: %s(*)\n", arg[i] > file
	} else if (t == "cptr") {
		printf "\t%s, intent(out) :: %s\n", as_pointer ? "type(c_ptr)" : \
			"integer(kind=MPI_ADDRESS_KIND)", arg[i] > file
	} else if (t ~ /^fn\./) {
		printf "\texternal :: %s\n", arg[i] > file
	} else if (t == "Status" && name !~ /^Status_f/) {
		printf "\tinteger%s :: %s(MPI_STATUS_SIZE%s)\n", f_intent(i), arg[i],
			len[i] == "" ? "" : ", *" > file
	} else {
		printf "\t%s%s :: %s%s\n", f_type(i, 0),
			t == "weights" && mode[i] == ">" ? "" : f_intent(i), arg[i],
			f_dims(i) > file
	}
}

function f_args(    i, text)
{
	for (i = 1; i <= n_args; i++)
		text = text arg[i] ", "
	return text
}

function f_prefix()
{
	return is_extension ? "MPIX_" : "MPI_"
}

function f08_one(prefix, base,    i, tail, bind, end)
{
	tail = choice ? "_f08ts" : "_f08"
	printf "interface %s%s\nsubroutine %s%s%s(%sierror)%s\n\timport\n" \
		"\timplicit none\n", prefix, base, prefix, name, tail, f_args(),
		choice ? " bind(C, name=\"" tolower(prefix name) \
			"_f08ts_\")" : "" > f08
	for (i = 1; i <= n_args; i++)
		f08_declare(f08, i)
	print "\tinteger, optional, intent(out) :: ierror" > f08
	print "end subroutine\nend interface" > f08
}

function make_f08(    base)
{
	if (flags ~ /double|MPI_Aint/ || name == "Pcontrol")
		return # written out in gen-main.awk
	base = name
	if (!has(flags, "own"))
		sub(/_c$/, "", base)
	f08_one(f_prefix(), base)
	f08_one("P" f_prefix(), base)
}

function mpi_subroutine(prefix, tail,    i)
{
	printf "subroutine %s%s%s(%sierror)\n\timport\n" \
		"\timplicit none\n", prefix, name, tail, f_args() > f90
	for (i = 1; i <= n_args; i++)
		mpi_declare(f90, i, tail != "")
	print "\tinteger, intent(out) :: ierror\nend subroutine" > f90
}

function mpi_one(prefix)
{
	printf "interface%s\n", gives_address() ? " " prefix name : "" > f90
	mpi_subroutine(prefix, "")
	if (gives_address())
		mpi_subroutine(prefix, "_cptr")
	print "end interface" > f90
}

function make_mpi()
{
	if (flags ~ /double|MPI_Aint/ || name == "Pcontrol")
		return
	mpi_one(f_prefix())
	mpi_one("P" f_prefix())
}

function declare_constants(    i, name, kind)
{
	for (i = 1; i <= n_constants; i++) {
		name = constants[i]
		kind = as[name]
		if (kind == "int" || kind == "offset")
			printf "integer%s, parameter :: %s = %s\n", kind == "int" ? \
				"" : "(kind=MPI_OFFSET_KIND)", name, value[name] > f08
		else
			printf "type(MPI_%s), parameter :: %s = MPI_%s(%s)\n",
				kind == "Type" ? "Datatype" : kind, name,
				kind == "Type" ? "Datatype" : kind, value[name] > f08
		printf "      integer%s %s\n      parameter (%s=%s)\n",
			kind == "offset" ? "*8" : "", name, name, value[name] > mpifh
	}
}
