# SPDX-License-Identifier: BSD-3-Clause
# info_keys: the lists of info keys in the manual pages, from info_keys.def
#
# usage: awk -f info_keys.awk info_keys.def page
# Copies the page; a line @INFO_KEYS object@ becomes the keys of that object.

# Splits an entry at the commas outside strings; strings lose their quotes.
function split_entry(text,    i, c, quoted, n)
{
	for (i in field)
		delete field[i]
	n = 1
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		if (c == "\"")
			quoted = !quoted
		else if (c == "," && !quoted)
			n++
		else if (quoted || c !~ /[ \t]/)
			field[n] = field[n] c
	}
	return n
}

function add_entry(text,    values, n, object, i)
{
	sub(/^INFO_KEY\(/, "", text)
	sub(/\)$/, "", text)
	if (split_entry(text) != 8) {
		print "info_keys.awk: cannot read " text > "/dev/stderr"
		exit 1
	}
	values = field[7]
	gsub(/\|/, ", ", values)
	text = ".TP\n.B " field[2] "\n" field[8]
	if (field[4] != "RESULT")
		text = text "\nValues: " values "."
	if (field[5] != "NULL")
		text = text "\nDefault: " field[5] "."
	n = split(field[3], object, "|")
	for (i = 1; i <= n; i++)
		list[object[i]] = list[object[i]] text "\n"
}

FNR == NR && /^INFO_KEY\(/ { entry = "" }
FNR == NR {
	if (/^INFO_KEY\(/ || entry != "") {
		line = $0
		sub(/^[ \t]+/, "", line)
		entry = entry (entry == "" ? "" : " ") line
	}
	if (entry ~ /"\)$/) {
		add_entry(entry)
		entry = ""
	}
	next
}
/^@INFO_KEYS .*@$/ {
	object_name = "OF_" substr($2, 1, length($2) - 1)
	if (!(object_name in list)) {
		print "info_keys.awk: no keys of " object_name > "/dev/stderr"
		exit 1
	}
	printf "%s", list[object_name]
	next
}
{ print }
