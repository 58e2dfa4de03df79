# SPDX-License-Identifier: BSD-3-Clause
# gen-c: the C side of a procedure

function c_type(t)
{
	if (t == "large")
		return "MPI_Count"
	if (t == "aint" || t == "offset")
		return "MPI_" toupper(substr(t, 1, 1)) substr(t, 2)
	if (t == "Status")
		return "MPI_Status"
	if (t == "buf" || t == "loc")
		return "void"
	if (t ~ /^(str|key|words)$/)
		return "char"
	if (t == "cptr")
		return "void *"
	return "int"
}

# The parameter as Fortran passes it.
function c_param(i, descriptor)
{
	if (type[i] ~ /^fn\./)
		return "weft_f_fn *" arg[i]
	if (descriptor && type[i] ~ /^(buf|loc|str|key)$/)
		return "CFI_cdesc_t *" arg[i]
	return (mode[i] == ":" ? "const " : "") c_type(type[i]) " *" arg[i]
}

function c_params(descriptor,    i, text, word, n)
{
	for (i = 1; i <= n_args; i++)
		text = text c_param(i, descriptor) ", "
	text = text "int *ierror"
	if (!descriptor) {
		n = split(strings, word, " ")
		for (i = 1; i <= n; i++)
			text = text ", size_t " word[i] "_len"
	}
	return text
}

function c_handle(t)
{
	return t == "Type" ? "MPI_Datatype" : "MPI_" t
}

function c_length(i,    l)
{
	l = len[i]
	if (l == "peers" || l == "indegree" || l == "outdegree") {
		if (l == "peers" && arg[i] ~ /^send/)
			return "weft_f_in_place(sendbuf) ? 0 : weft_f_peers(*comm)"
		return "weft_f_" l "(*comm)"
	}
	return "*" l
}

# Declares locals and allocates before the call; sets ready to the condition that
# all allocations succeeded.
function c_before(file,    i, x)
{
	ready = ""
	for (i = 1; i <= n_args; i++) {
		x = arg[i]
		if (is_handle(type[i]) && len[i] != "") {
			printf "\t%s *%s_c = weft_f_%s_%s(%s, %s);\n",
				c_handle(type[i]), x, tolower(type[i]),
				mode[i] == ">" ? "array_empty" : "array", x,
				c_length(i) > file
			ready = ready (ready == "" ? "" : " && ") x "_c"
		} else if (is_handle(type[i]) && mode[i] == ">") {
			printf "\t%s %s_c = NULL;\n", c_handle(type[i]), x > file
		} else if (is_handle(type[i]) && mode[i] == "=") {
			printf "\t%s %s_c = PMPI_%s_fromint(*%s);\n",
				c_handle(type[i]), x, type[i], x > file
		} else if (type[i] ~ /^(str|key)$/ && mode[i] == ":") {
			printf "\tchar *%s_c = weft_f_%s(%s, %s_len);\n", x,
				type[i] == "key" ? "key" : "string", x, x > file
			ready = ready (ready == "" ? "" : " && ") x "_c"
		} else if (type[i] == "str") {
			printf "\tchar %s_c[%s] = \"\";\n", x, len[i] > file
		}
	}
}

# The argument that the C procedure gets.
function c_pass(i,    x)
{
	x = arg[i]
	if (is_handle(type[i]))
		return len[i] != "" ? x "_c" : mode[i] == ":" ? \
			"PMPI_" type[i] "_fromint(*" x ")" : "&" x "_c"
	if (type[i] ~ /^(str|key)$/)
		return x "_c"
	if (type[i] ~ /^(buf|loc)$/)
		return "weft_f_buf(" x ")"
	if (type[i] == "Status")
		return "weft_f_status(" x ")"
	if (type[i] == "weights")
		return "weft_f_weights(" x ")"
	if (type[i] ~ /^fn\./)
		return "(MPI_" substr(type[i], 4) " *)" x
	if (len[i] ~ /^3,/)
		return "(int(*)[3])" x
	if (len[i] != "" || mode[i] != ":")
		return x
	return "*" x
}

# Stores the results after the call.
function c_after(file,    i, x)
{
	for (i = 1; i <= n_args; i++) {
		x = arg[i]
		if (is_handle(type[i]) && len[i] != "") {
			printf "\tweft_f_%s_%s(%s_c, %s, %s);\n", tolower(type[i]),
				mode[i] == ":" ? "array_free" : "array_put", x,
				mode[i] == ":" ? "NULL" : "(int *)" x,
				mode[i] == ":" ? "0" : mode[i] == ">" ? \
				"rc ? 0 : " c_length(i) : c_length(i) > file
		} else if (type[i] == "Request" && mode[i] == "=") {
			printf "\tweft_f_request_put(%s, %s_c);\n", x, x > file
		} else if (is_handle(type[i]) && mode[i] == "=") {
			printf "\t*%s = PMPI_%s_toint(%s_c);\n", x, type[i], x > file
		} else if (is_handle(type[i]) && mode[i] == ">") {
			# a failed call has set the request to null
			printf "%s\t*%s = PMPI_%s_toint(%s_c);\n",
				type[i] == "Request" ? "" : \
				"\tif (rc == MPI_SUCCESS)\n\t", x, type[i], x > file
		} else if (type[i] ~ /^(str|key)$/ && mode[i] == ":") {
			printf "\tfree(%s_c);\n", x > file
		} else if (type[i] == "str") {
			printf "\tif (rc == MPI_SUCCESS)\n\t\tweft_f_string_put(%s, %s_len, %s_c);\n",
				x, x, x > file
		} else if (type[i] == "index") {
			printf "\tif (rc == MPI_SUCCESS && *%s != MPI_UNDEFINED)\n\t\t++*%s;\n",
				x, x > file
		}
	}
}

# "mpi_" or "pmpi_"; of an extension "mpix_" or "pmpix_".
function with_x(prefix)
{
	if (is_extension)
		sub(/mpi_$/, "mpix_", prefix)
	return prefix
}

# The further names, which begin with prefix, of the function <of><low>_.
function c_more_names(file, prefix, of, low)
{
	prefix = with_x(prefix)
	of = with_x(of)
	if (gives_address() && low !~ /_c$/)
		printf "WEFT_F_ALIAS(%s%s_cptr_, %s%s_)\n", prefix, low, of,
			low > file
	if (!choice && !has(flags, "f77"))
		printf "WEFT_F_ALIAS(%s%s_f08_, %s%s_)\n", prefix, low, of,
			low > file
}

# All names of a procedure that is one function, pmpi_<low>_.
function c_names(file, low)
{
	printf "WEFT_F_ALIAS(mpi_%s_, pmpi_%s_)\n", low, low > file
	c_more_names(file, "mpi_", "pmpi_", low)
	c_more_names(file, "pmpi_", "pmpi_", low)
}

# The names of a procedure in fortran_hand.c, where some have both functions.
function c_hand_names(low)
{
	if (name !~ /^(Init|Init_thread|Waitsome|Testsome|Cancel|Request_get_status_some|Comm_idup(_with_info)?|Comm_ishrink|Session_resize|Comm_spawn(_multiple)?)$/) {
		c_names(hand_names, low)
		return
	}
	c_more_names(hand_names, "mpi_", "mpi_", low)
	c_more_names(hand_names, "pmpi_", "pmpi_", low)
}

# The head of the function of the MPI_ or PMPI_ name. That of the MPI_ name is
# static and has weak names, so that calls within the library reach it although
# a tool replaces the names.
function c_head(prefix, low, params)
{
	if (prefix == "mpi_")
		printf "\nstatic void f_%s%s(%s)\n{\n", with_x(prefix), low,
			params > shims
	else
		printf "\nvoid %s%s(%s);\nvoid %s%s(%s)\n{\n", with_x(prefix), low,
			params, with_x(prefix), low, params > shims
}

function c_tail(prefix, low)
{
	print "\tweft_f_return(ierror, rc);\n}" > shims
	if (prefix == "mpi_")
		printf "WEFT_F_ALIAS(%s%s, f_%s%s)\n", with_x(prefix), low,
			with_x(prefix), low > shims
}

# The function of the MPI_ name, or of the PMPI_ name.
function c_shim(prefix, low,    i, call, c_name)
{
	c_name = toupper(with_x(prefix)) name
	c_head(prefix, low "_", c_params(0))
	c_before(shims)
	for (i = 1; i <= n_args; i++)
		call = call (i > 1 ? ", " : "") c_pass(i)
	if (ready == "")
		printf "\tint rc = %s(%s);\n\n", c_name, call > shims
	else
		printf "\tint rc = MPI_ERR_NO_MEM;\n\n\tif (%s)\n\t\trc = %s(%s);\n",
			ready, c_name, call > shims
	c_after(shims)
	c_tail(prefix, low "_")
	c_more_names(shims, prefix, prefix == "mpi_" ? "f_mpi_" : prefix, low)
}

# True if argument i is data of a nonblocking call whose count and type are the
# next two arguments; false for operands and for buffers with a block for each
# member.
function is_typed_buffer(i)
{
	if (type[i] != "buf" || !async[i] || type[i + 2] != "Type" ||
	    arg[i + 1] !~ /count$/ || len[i + 1] != "" || len[i + 2] != "")
		return 0
	if (tolower(name) ~ /reduce|scan/)
		return 0
	return !(arg[i] == "recvbuf" && tolower(name) ~ /gather|alltoall/ ||
		 arg[i] == "sendbuf" && tolower(name) ~ /scatter|alltoall/)
}

# The communicator whose error handler is called for a section with gaps.
function errh_comm(    i)
{
	for (i = 1; i <= n_args; i++)
		if (type[i] == "Comm" && mode[i] == ":" && len[i] == "")
			return "*" arg[i]
	return "PMPI_Comm_toint(MPI_COMM_SELF)"
}

# The form for mpi_f08: converts array sections, then calls the form above.
function c_shim_f08(prefix, low,    i, x, call, tail, how)
{
	c_head(prefix, low "_f08ts_", c_params(1))
	for (i = 1; i <= n_args; i++)
		if (type[i] ~ /^(buf|loc)$/)
			printf "\tstruct weft_f_array %s_a;\n", arg[i] > shims
	print "\tint rc = MPI_SUCCESS;\n" > shims
	for (i = 1; i <= n_args; i++) {
		x = arg[i]
		if (is_typed_buffer(i)) {
			printf "\trc = weft_f_array_in_nonblocking(&%s_a, %s, *%s, *%s, \"%s\", %s, rc);\n",
				x, x, arg[i + 1], arg[i + 2], f_prefix() name, errh_comm() > shims
			call = call x "_a.addr, " \
				x "_a.section ? &weft_f_one" \
				(type[i + 1] == "large" ? "_c" : "") " : " \
				arg[i + 1] ", " x "_a.section ? &" x \
				"_a.section_f : " arg[i + 2] ", "
			i += 2
		} else if (type[i] ~ /^(buf|loc)$/) {
			how = type[i] == "loc" ? "WEFT_F_ADDRESS" : async[i] ? \
				"WEFT_F_NONBLOCKING" : mode[i] == ":" ? "WEFT_F_IN" : \
				"WEFT_F_OUT"
			printf "\trc = weft_f_array_in(&%s_a, %s, %s, \"%s\", %s, rc);\n",
				x, x, how, f_prefix() name, errh_comm() > shims
			call = call x "_a.addr, "
		} else if (type[i] ~ /^(str|key)$/) {
			call = call x "->base_addr, "
			tail = tail ", " x "->elem_len"
		} else {
			call = call x ", "
		}
	}
	printf "\tif (rc == MPI_SUCCESS)\n\t\t%s%s_(%s&rc%s);\n",
		with_x(prefix == "mpi_" ? "f_mpi_" : prefix), low, call, tail > shims
	for (i = 1; i <= n_args; i++)
		if (type[i] ~ /^(buf|loc)$/)
			printf "\tweft_f_array_finish(&%s_a);\n", arg[i] > shims
	c_tail(prefix, low "_f08ts_")
}

function make_c(    low)
{
	low = tolower(name)
	if (has(flags, "callback")) {
		c_names(call_names, low)
		return
	}
	if (has(flags, "handwritten")) {
		if (flags !~ /double|MPI_Aint/ && arg[1] !~ /^buffer_addr/ && \
				arg[2] !~ /^buffer_addr/ && name != "Pcontrol")
			c_hand_names(low)
		return
	}
	c_shim("mpi_", low)
	c_shim("pmpi_", low)
	if (choice) {
		c_shim_f08("mpi_", low)
		c_shim_f08("pmpi_", low)
	}
}
