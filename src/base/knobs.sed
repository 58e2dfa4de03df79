# SPDX-License-Identifier: BSD-3-Clause
# knobs.sed: the list of variables that weft(7) contains, from knobs.def
#
# Usage: sed -n -f knobs.sed knobs.def
# Entries of KNOB_DEBUG_* are left out. This command lists these entries alone:
#   sed -n '/^KNOB_DEBUG_[NS]/,/")$/{s/_DEBUG//;p;}' knobs.def |
#     sed -n -f knobs.sed
# sed makes the list, not a program that the build compiles: such a program
# may be for another machine. The script fails at a line of another form.
/^KNOB_DEBUG_/,/")$/d
/^KNOB_/!d
:join
/")$/!{
	N
	b join
}
s/\n[[:space:]]*/ /g
s/" "//g
# name, default, unit, sentence
s/^KNOB_NUM([^,]*, \([^,]*\), \([^,]*\), [^,]*, [^,]*, "\([^"]*\)", [^,]*, "\(.*\)")$/.TP\
.B WEFT_\1\
\4.\
Unit: \3; default \2./
# name, default, nothing, sentence
s/^KNOB_STR([^,]*, \([^,]*\), "\([^"]*\)", "", [^,]*, "\(.*\)")$/.TP\
.B WEFT_\1\
\3./
# name, default, values, sentence
s/^KNOB_STR([^,]*, \([^,]*\), "\([^"]*\)", "\([^"]*\)", [^,]*, "\(.*\)")$/.TP\
.B WEFT_\1\
\4.\
Values: \3; default \2./
/^KNOB_/q 1
p
