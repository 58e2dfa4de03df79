# SPDX-License-Identifier: BSD-3-Clause
# counter.sed: the list of counters that weft(7) contains, from counter.def
#
# Usage: sed -n -f counter.sed counter.def
# The script fails at a line of another form.
/^COUNTER(/!{
	/^OBJECT_COUNTER(/!d
}
:join
/")$/!{
	N
	b join
}
s/\n[[:space:]]*/ /g
s/^COUNTER(\([^,]*\), [^,]*, [^,]*, "\([^"]*\)", \([^,]*\), [^,]*, "\(.*\)")$/.TP\
.B \1\
\4.\
In \2, per \3./
s/^OBJECT_COUNTER(\([^,]*\), [^,]*, \([^,]*\), \([^,]*\), [^,]*, "\([^"]*\)", [^,]*, "\(.*\)")$/.TP\
.BR \2 " (\3)"\
\5.\
In \4, per \1, in the tool interface only./
/^\(OBJECT_\)*COUNTER(/q 1
p
