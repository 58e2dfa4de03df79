# SPDX-License-Identifier: BSD-3-Clause
# gen-man: a manual page for each procedure, from the rows

BEGIN {
	handles = "Comm Type Errhandler File Group Info Message Op Request Session Win"
	known_types = "."
	n = split("num:a number that is not negative;rank:a rank;tag:a tag;" \
		"root:the rank of the root; on an intercommunicator, MPI_ROOT at the root;" \
		"keyval:a key of attributes;bool:true or false;index:an index;" \
		"count:a number of elements;count_c:a number of elements;" \
		"weights:weights of edges, or MPI_UNWEIGHTED;int:a number;" \
		"large:a number;aint:an address or a number of bytes;" \
		"offset:a position or size in a file;fint:a handle of Fortran;" \
		"fstatus:a status of mpif.h;" \
		"f08status:a status of mpi_f08;" \
		"buf:a buffer;loc:a variable;str:a string;key:a string;" \
		"words:strings;cptr:the address of a variable for an address;" \
		"vbool:a LOGICAL of Fortran;attr:the attribute, or the extra state;" \
		"opaque:an address;argc:argument of main;argv:argument of main;" \
		"Comm:a communicator;Type:a datatype;Errhandler:an error handler;" \
		"File:a file;Group:a group;Info:an info object;Message:a message;" \
		"Op:an operation;Request:a request;Session:a session;Win:a window",
		item, ";")
	for (i = 1; i <= n; i++) {
		at = index(item[i], ":")
		noun[substr(item[i], 1, at - 1)] = substr(item[i], at + 1)
	}
	n = split("Comm COMM Type TYPE Errhandler ERRHANDLER File FILE Group GROUP " \
		"Info INFO Message REQUEST Op OP Request REQUEST Session SESSION Win WIN " \
		"count COUNT count_c COUNT rank RANK tag TAG root ROOT keyval KEYVAL buf BUFFER",
		item, " ")
	for (i = 1; i <= n; i += 2)
		class[item[i]] = item[i + 1]
	one_sided = "^(R?[Pp]ut|R?[Gg]et|R?[Aa]ccumulate|R?[Gg]et_accumulate|" \
		"Fetch_and_op|Compare_and_swap)$"
}

# Error classes that do not follow from the kinds of arguments: entries, class,
# condition.
function further(entries, name, when)
{
	if ($2 ~ entries)
		printf ".TP\n.B MPI_ERR_%s\n%s\n", name, when > page
}

function further_errors()
{
	further("^(Recv|Mrecv|Sendrecv.*|(Wait|Test)(any|all|some)?)$", "TRUNCATE",
		"A message was longer than its buffer.")
	further("^(Wait|Test)(all|some)$", "IN_STATUS",
		"An operation failed; each status has its own code.")
	further("^(Cart_(get|rank|coords|shift|sub)|Graph_(get|neigh)|Cartdim|Graphdims|" \
		"Dist_graph_neigh|Neighbor_)", "TOPOLOGY",
		"The communicator has no topology, or a topology of another kind.")
	further("^(Dims|Cart)_create$", "DIMS", "The dimensions form no grid.")
	further("^Comm_spawn", "SPAWN", "A program could not be started.")
	further("^(Comm_connect|Comm_accept|Close_port)$", "PORT",
		"The port does not exist.")
	further("^Lookup_name$", "NAME", "The name is not published.")
	further("^Unpublish_name$", "SERVICE", "The name was not published.")
	further("^Info_(set|delete|get|get_string|get_valuelen)$", "INFO_KEY",
		"The key is empty or too long.")
	further("^Info_set$", "INFO_VALUE", "The value is too long.")
	further("^Info_delete$", "INFO_NOKEY", "The key does not exist.")
	further("^Win_(create|allocate|allocate_shared|attach)$", "SIZE",
		"The size is negative.")
	further("^Win_(create|allocate|allocate_shared)$", "DISP",
		"The displacement unit is not positive.")
	further("^Win_lock$", "LOCKTYPE", "The type of lock does not exist.")
	further("^Win_(fence|start|post|lock|lock_all)$", "ASSERT",
		"The assertion has bits that this procedure does not accept.")
	further("^Win_(attach|detach)$", "RMA_ATTACH",
		"The memory cannot be attached, or is not attached.")
	further("^Win_allocate_shared$", "RMA_SHARED",
		"The processes cannot share memory.")
	further("^Win_(attach|detach|shared_query)$", "RMA_FLAVOR",
		"The window is of another flavor.")
	further(one_sided, "RMA_RANGE",
		"The access is outside the target's window; a later call may report this.")
	further(one_sided "|^Win_(free|fence|start|complete|post|wait|test|lock|" \
		"unlock|flush|sync)", "RMA_SYNC",
		"The epoch does not permit this call.")
}

# Prints a line of roff. A line longer than a screen is broken at a comma.
function put_code(text, indent,    at)
{
	while (length(text) > 76) {
		at = 76
		while (at > 0 && substr(text, at, 2) != ", ")
			at--
		if (!at)
			break
		print substr(text, 1, at) > page
		text = indent substr(text, at + 2)
	}
	print text > page
}

function synopsis_c()
{
	printf ".SS C\n.nf\n#include <%s>\n\n", prefix == "MPI_" ? "mpi.h" : "mpix.h" > page
	put_code($8 " " prefix $1 "(" $9 ");", "        ")
	print ".fi" > page
}

function list_of_arguments(    i, text)
{
	for (i = 1; i <= n_args; i++)
		text = text arg[i] ", "
	return text
}

function synopsis_f08(    i, text)
{
	print ".SS mpi_f08\n.nf\nuse mpi_f08\n" > page
	if (flags ~ /double|MPI_Aint/) {
		put_code((flags ~ /double/ ? "double precision" : \
			"integer(kind=MPI_ADDRESS_KIND)") " function MPI_" $1 \
			"(" substr(list_of_arguments(), 1,
			length(list_of_arguments()) - 2) ")", "        ")
	} else {
		text = name
		if (!has(flags, "own"))
			sub(/_c$/, "", text)
		put_code("call " prefix text "(" list_of_arguments() "ierror)", "        ")
	}
	for (i = 1; i <= n_args; i++)
		f08_declare(page, i)
	if (flags !~ /double|MPI_Aint/)
		print "\tinteger, optional, intent(out) :: ierror" > page
	print ".fi" > page
}

# Prints the declarations that a caller needs, because mpif.h declares no
# procedures.
function synopsis_f77(    i, t, text)
{
	if ($1 ~ /_c$/)
		return
	print ".SS mpif.h\n.nf\ninclude 'mpif.h'\n" > page
	text = list_of_arguments()
	if (flags ~ /double|MPI_Aint/)
		text = toupper("MPI_" $1 "(" substr(text, 1, length(text) - 2) ")")
	else
		text = toupper(prefix $1 "(" text "ierror)")
	put_code((flags ~ /double|MPI_Aint/ ? "" : "CALL ") text, "        ")
	for (i = 1; i <= n_args; i++) {
		t = type[i]
		if (t ~ /^(buf|loc)$/)
			text = "<type> " toupper(arg[i]) "(*)"
		else if (t ~ /^fn\./)
			text = "EXTERNAL " toupper(arg[i])
		else if (t == "Status")
			text = "INTEGER " toupper(arg[i]) "(MPI_STATUS_SIZE" \
				(len[i] == "" ? "" : ",*") ")"
		else if (t == "cptr")
			text = "INTEGER(KIND=MPI_ADDRESS_KIND) " toupper(arg[i])
		else
			text = toupper(f_type(i, 0) " " arg[i] f_dims(i))
		sub(/CHARACTER\(LEN=\*\)/, "CHARACTER*(*)", text)
		print "\t" text > page
	}
	if (flags !~ /double|MPI_Aint/)
		print "\tINTEGER IERROR" > page
	print ".fi" > page
}

# Returns a text such as "in: a communicator" for an argument of the table.
function meaning(mode, type, len, name,    text)
{
	sub(/\*$/, "", type)
	if (type ~ /^fn\./)
		text = "a function of type MPI_" substr(type, 4)
	else if (type ~ /^T_/)
		text = "of type MPI_" type
	else if (type == "Status")
		text = mode != ">" ? "a status" : len == "" ? \
			"a status, or MPI_STATUS_IGNORE" : "statuses, or MPI_STATUSES_IGNORE"
	else
		text = noun[type]
	if (name == "source" && type == "rank" && $4 == "p2p")
		text = text ", or MPI_ANY_SOURCE or MPI_PROC_NULL"
	else if (name == "dest" && type == "rank")
		text = text ", or MPI_PROC_NULL"
	else if (type == "tag" && (name == "recvtag" || $10 ~ /source:rank tag:/) && \
		$4 == "p2p" && $2 != "Precv_init")
		text = text ", or MPI_ANY_TAG"
	if (len != "" && type !~ /^(str|key|Status|weights)$/)
		text = "an array; each " (text ~ /^strings/ ? "a string" : text)
	return (mode == ":" ? "in" : mode == ">" ? "out" : "in and out") ": " text
}

function arguments_section(    n, i, word)
{
	if ($10 == "-")
		return
	print ".SH ARGUMENTS" > page
	n = split($10, word, " ")
	for (i = 1; i <= n; i++) {
		split_argument(word[i])
		printf ".TP\n.I %s\n%s\n", w_name, meaning(w_mode, w_type, w_len, w_name) > page
	}
}

function split_argument(text,    at)
{
	match(text, /[:>=]/)
	w_name = substr(text, 1, RSTART - 1)
	w_mode = substr(text, RSTART, 1)
	w_type = substr(text, RSTART + 1)
	sub(/&$/, "", w_type)
	at = index(w_type, "(")
	w_len = at ? substr(w_type, at) : ""
	if (at)
		w_type = substr(w_type, 1, at - 1)
}

function description(    form)
{
	form = $3
	print ".SH DESCRIPTION" > page
	print $11 > page
	if (form ~ /^start/)
		print ".PP\nThis form returns immediately. The operation is complete when\n" \
			".BR MPI_Wait ,\n.B MPI_Test\nor a similar call completes\n.IR request .\n" \
			"Until then, do not access its buffers and arrays." > page
	if (form ~ /^init/)
		print ".PP\nThis form creates a persistent request. Each\n.B MPI_Start\n" \
			"starts the operation. Do not free or move the buffers and arrays\n" \
			"before the request is freed." > page
	if (form ~ /_c$/)
		printf ".PP\nThis is the form for large counts. The form for counts of type int is\n" \
			".BR MPI_%s (3).\n", substr($1, 1, length($1) - 2) > page
}

# The object whose error handler is called, determined by the arguments.
function handler(    n, i, word)
{
	n = split($10, word, " ")
	for (i = 1; i <= n; i++) {
		split_argument(word[i])
		if (w_mode != ">" && w_len == "" && w_type ~ /^(Comm|Session|Win|File)$/)
			return "error handler of\n.I " w_name
	}
	for (i = 1; i <= n; i++) {
		split_argument(word[i])
		if (w_mode != ">" && w_type ~ /^(Request|Message)\*?$/)
			return "error handler of the communicator of\n.I " w_name
		if (w_mode == ":" && w_type == "Errhandler")
			return "handler\n.I " w_name
	}
	return "error handler of\n.B MPI_COMM_SELF"
}

# Prints an error code of the tool interface, unless the page has it already.
function tool_error(code, text)
{
	if (code in tool_done)
		return
	tool_done[code] = 1
	printf ".TP\n.B MPI_T_ERR_%s\n%s\n", code, text > page
}

function tool_errors(    n, i, word)
{
	split("", tool_done)
	print "Returns\n.B MPI_SUCCESS\nor one of these codes. No error handler is called." > page
	if ($1 != "T_init_thread")
		tool_error("NOT_INITIALIZED", "The tool interface is not initialized.")
	n = $10 == "-" ? 0 : split($10, word, " ")
	for (i = 1; i <= n; i++) {
		split_argument(word[i])
		if (w_mode == ">")
			continue
		if (w_type == "T_pvar_session")
			tool_error("INVALID_SESSION", "There is no such session.")
		else if (w_type ~ /^T_/ && w_type != "T_cb_safety" || w_type == "opaque" && $1 ~ /^T_pvar/)
			tool_error("INVALID_HANDLE", "There is no such handle, or its object is gone.")
		else if (w_name ~ /index$/)
			tool_error("INVALID_INDEX", "The index is out of range.")
		else if (w_type == "str" || w_type == "key")
			tool_error("INVALID_NAME", "Nothing has this name.")
	}
	if ($1 ~ /handle_alloc$/)
		tool_error("OUT_OF_HANDLES", "There are too many handles.")
	if ($1 ~ /session_create$/)
		tool_error("OUT_OF_SESSIONS", "There are too many sessions.")
	if ($1 == "T_cvar_write") {
		tool_error("CVAR_SET_NOT_NOW", "The variable can be set until the first session is opened.")
		tool_error("CVAR_SET_NEVER", "The variable cannot be set.")
		tool_error("NOT_ACCESSIBLE", "The caller is a callback that may not set variables.")
	}
	if ($1 ~ /^T_pvar_(start|stop)$/)
		tool_error("PVAR_NO_STARTSTOP", "The variable is always active.")
	if ($1 ~ /^T_pvar_(write|reset)$/)
		tool_error("PVAR_NO_WRITE", "The variable cannot be set.")
	if ($1 == "T_pvar_readreset")
		tool_error("PVAR_NO_ATOMIC", "The variable cannot be reset.")
	if (n)
		tool_error("INVALID", "Another argument is wrong, or a place for a result is missing.")
}

function errors(    n, i, word, done)
{
	print ".SH ERRORS" > page
	if ($8 != "int" || $1 ~ /_toint$/) {
		print "None." > page
		return
	}
	if ($4 == "tool") {
		tool_errors()
		return
	}
	print "Returns\n.BR MPI_SUCCESS ,\nor calls the\n" handler() \
		"\nand returns a code of one of these classes." > page
	n = $10 == "-" ? 0 : split($10, word, " ")
	for (i = 1; i <= n; i++) {
		split_argument(word[i])
		sub(/\*$/, "", w_type)
		if (w_mode == ">" && w_type != "buf" || !(w_type in class) || class[w_type] in done)
			continue
		done[class[w_type]] = 1
		printf ".TP\n.B MPI_ERR_%s\n.I %s\nis invalid.\n", class[w_type], w_name > page
	}
	if (n)
		print ".TP\n.B MPI_ERR_ARG\nAnother argument is invalid, or the address of a result is NULL." > page
	further_errors()
	if ($4 ~ /^(p2p|coll|comm|session|rma)$/)
		print ".TP\n.B MPIX_ERR_PROC_FAILED\nThe call needs a process that has ended." > page
	print ".PP\nThe text of the error code describes the error and the remedy:\n" \
		".BR MPI_Error_string (3)." > page
}

function see_also(    n, i, word, text)
{
	n = split(forms[$2], word, " ")
	for (i = 1; i <= n; i++)
		if (word[i] != $1)
			text = text ".BR " prefix word[i] " (3),\n"
	printf ".SH SEE ALSO\n%s.BR weft (7)\n", text > page
}

function one_page(    phrase)
{
	read_arguments()
	page = out "/" prefix name ".3"
	phrase = $11
	sub(/\.( .*)?$/, "", phrase)
	printf ".\\\" made by gen-man\n.TH %s%s 3 \"\" \"weft\" \"MPI\"\n" \
		".SH NAME\n%s%s \\- %s%s\n.SH SYNOPSIS\n", prefix, name, prefix,
		name, tolower(substr(phrase, 1, 1)), substr(phrase, 2) > page
	synopsis_c()
	if (!has(flags, "conly") || has(flags, "fortran")) {
		if (!has(flags, "f77"))
			synopsis_f08()
		synopsis_f77()
	}
	arguments_section()
	description()
	errors()
	if (prefix == "MPI_")
		printf ".SH STANDARD\nMPI 5.0, %s %s.\n", $6 ~ /\./ ? "section" : "chapter", $6 > page
	else if ($5 == "ft")
		print ".SH STANDARD\nNot in MPI 5.0: User Level Failure Mitigation of the MPI Forum." > page
	else
		print ".SH STANDARD\nThis procedure is not part of MPI. A program that calls it runs only with Weft." > page
	see_also()
	close(page)
}

$1 == "chapter" { next }
{ prefix = "MPI_" }
$1 == "MPIX" && NF == 2 { next } # has a page of its own
sub(/^MPIX\t/, "") { prefix = "MPIX_" }
NR == FNR { forms[$2] = forms[$2] " " $1; next }
{ one_page() }
