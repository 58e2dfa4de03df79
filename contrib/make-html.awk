# SPDX-License-Identifier: BSD-3-Clause
# make-html.awk: writes the pages of make-html's list below the folder "out",
# and prints the pictures that they show
#
# usage: awk -v out=FOLDER -f make-html.awk LIST STREAM
# LIST: source, page and title of each page. STREAM: for each page, a line
# "<!-- page NAME -->" and its HTML.

function escaped(text) {
	gsub(/&/, "\\&amp;", text)
	gsub(/</, "\\&lt;", text)
	gsub(/>/, "\\&gt;", text)
	return text
}

# The way from a page to the top folder of the site.
function way_up(page) {
	gsub(/[^\/]+$/, "", page)
	gsub(/[^\/]+/, "..", page)
	return page
}

function begin(page, title,    up) {
	up = way_up(page)
	file = out "/" page
	print "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n" \
		"<meta charset=\"utf-8\">\n" \
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" \
		"<title>" escaped(title) (title == "Weft" ? "" : " - Weft") "</title>\n" \
		"<link rel=\"stylesheet\" href=\"" up "weft.css\">\n</head>\n<body>\n" \
		"<nav><a href=\"" up "index.html\">Weft</a>\n" \
		"<a href=\"" up "contrib/guides/index.html\">Guides</a>\n" \
		"<a href=\"" up "man/index.html\">Manual pages</a>\n" \
		"<a href=\"" up "src/index.html\">Design</a>\n" \
		"<a href=\"" up "pages.html\">All pages</a></nav>\n<main>" > file
}

function end() {
	if (file) {
		print "</main>\n</body>\n</html>" > file
		close(file)
	}
	file = ""
}

# A path without "." and "..".
function plain(path,    part, n, i, kept, result) {
	n = split(path, part, "/")
	kept = 0
	for (i = 1; i <= n; i++) {
		if (part[i] == ".." && kept > 0)
			kept--
		else if (part[i] != "." && part[i] != "")
			part[++kept] = part[i]
	}
	for (i = 1; i <= kept; i++)
		result = result (i > 1 ? "/" : "") part[i]
	return result
}

# The link of a page for the link of its source: to the page of a source, to a
# page with the text of a file, or to a picture.
function translated(link,    anchor, path) {
	if (link ~ /^[a-z]+:|^#|^\//)
		return link
	anchor = link
	if (sub(/^[^#]*/, "", anchor))
		sub(/#.*/, "", link)
	path = plain(folder link)
	if (path in page_of)
		return way_up(name) page_of[path] anchor
	if (path "/README.md" in page_of)
		return way_up(name) page_of[path "/README.md"] anchor
	if (path ~ /\.(svg|png)$/) {
		pictures[path] = 1
		return link
	}
	texts[path] = 1
	return link ".html" anchor
}

function with_links(line,    done, link) {
	while (match(line, /(href|src)="[^"]*"/)) {
		link = substr(line, RSTART, RLENGTH)
		done = done substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		match(link, /"[^"]*/)
		done = done substr(link, 1, RSTART) \
			translated(substr(link, RSTART + 1, RLENGTH - 1)) "\""
	}
	return done line
}

# Names of manual pages become links, except within links.
function with_manuals(line,    done, word, manual, to) {
	to = name ~ /^man\// ? "" : way_up(name) "man/"
	while (match(line, /(<b>)?[A-Za-z][A-Za-z0-9_.-]*(<\/b>)?\([1-9]\)/)) {
		word = substr(line, RSTART, RLENGTH)
		done = done substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		manual = word
		gsub(/<\/?b>|\)/, "", manual)
		sub(/\(/, ".", manual)
		if (manual in is_manual && "man/" manual ".html" != name &&
			done !~ /<a [^>]*>([^<]|<[^\/]|<\/[^a])*$/)
			word = "<a href=\"" to manual ".html\">" word "</a>"
		done = done word
	}
	return done line
}

# The line about a manual page in the index, from its NAME.
function describe(line) {
	if (line ~ /id="NAME"/)
		describing = 1
	else if (describing) {
		about[name] = about[name] " " line
		if (line ~ /<\/p>/)
			describing = 0
	}
}

function manual_index(    i, section, entry, text) {
	begin("man/index.html", "Manual pages")
	print "<h1>Manual pages</h1>" > file
	for (i = 1; i <= split("1 7 3", order, " "); i++) {
		section = order[i]
		print "<h2 id=\"section-" section "\">" section ": " heading[section] \
			"</h2>\n<ul>" > file
		for (entry = 1; entry <= n_pages; entry++) {
			name = listed[entry]
			if (name !~ "^man/.*\\." section "\\.html$")
				continue
			text = about[name]
			gsub(/<[^>]*>/, "", text)
			gsub(/ +/, " ", text)
			sub(/^.* - /, "", text)
			print "<li><a href=\"" substr(name, 5) "\">" title_of[name] \
				"</a> " text "</li>" > file
		}
		print "</ul>" > file
	}
	end()
}

function page_index(    i) {
	begin("pages.html", "All pages")
	print "<h1>All pages</h1>\n<p><a href=\"man/index.html\">The manual " \
		"pages</a> have an index of their own.</p>\n" \
		"<div class=\"wide\"><table>" > file
	for (i = 1; i <= n_pages; i++)
		if (listed[i] !~ /^man\//)
			print "<tr><td><a href=\"" listed[i] "\">" source_of[listed[i]] \
				"</a></td><td>" escaped(title_of[listed[i]]) "</td></tr>" > file
	print "</table></div>" > file
	end()
}

function text_page(path,    line, folder) {
	if ((getline line < path) <= 0)
		return
	folder = path
	sub(/[^\/]*$/, "", folder)
	system("mkdir -p \"" out "/" folder "\"")
	begin(path ".html", path)
	printf "<h1>%s</h1>\n<pre>%s\n", path, escaped(line) > file
	while ((getline line < path) > 0)
		print escaped(line) > file
	print "</pre>" > file
	close(path)
	end()
}

BEGIN {
	FS = "\t"
	heading[1] = "commands"
	heading[3] = "procedures"
	heading[7] = "overviews"
}

FNR == NR {
	listed[++n_pages] = $2
	source_of[$2] = $1
	title_of[$2] = $3
	page_of[$1] = $2
	manual = $2
	if (sub(/^man\//, "", manual) && sub(/\.html$/, "", manual))
		is_manual[manual] = 1
	next
}

/^<!-- page .* -->$/ {
	end()
	split($0, word, " ")
	name = word[3]
	folder = source_of[name]
	sub(/[^\/]*$/, "", folder)
	begin(name, title_of[name])
	if (name ~ /^man\//)
		print "<h1 class=\"manual\">" title_of[name] "</h1>" > file
	next
}

{
	if (name ~ /^man\//)
		describe($0)
	else
		$0 = with_links($0)
	if (/<pre>/)
		listing = 1
	# in a listing, the end of the line already breaks it
	if (listing && /^ *<br\/>$/)
		next
	if (!listing)
		$0 = with_manuals($0)
	if (/<\/pre>/)
		listing = 0
	if (/^<td/) # an option is not divided after its first dash
		gsub(/<code>-[^ <]*<\/code>/, "<span class=\"word\">&</span>")
	sub(/^ *<table/, "<div class=\"wide\">&")
	sub(/^ *<\/table>/, "&</div>")
	print > file
}

END {
	end()
	manual_index()
	page_index()
	for (path in texts)
		text_page(path)
	for (path in pictures)
		print path
}
