# What the scripts that work on a workspace share.  Each runs in a box that has all of a workspace at /work: `files` is what
# boxes see, `points` has the checkpoints.  With the tools of GNU, whose lists can end in NUL, since a file may be called
# anything else.  Exit codes from 44 on mean something: see box-site.c.
set -e
cd /work
umask 077
export LC_ALL=C

# Prints the number of a checkpoint, which is named by that or by its name.  Names are plain words, so they can be written
# into JSON as they are.
find_point() {
	[ -e "points/$1/created" ] && { echo "$1"; return; }
	for p in points/*/name; do
		[ -e "$p" ] && [ "$(cat "$p")" = "$1" ] || continue
		p=${p#points/}
		echo "${p%/name}"
		return
	done
	exit 44
}

# Takes away what a program that was cut short has left, whatever it closed.
wipe() {
	[ ! -e "$1" ] || chmod -R u+rwX "$1"
	rm -rf "$1"
}

# must_read FOLDER: what the user of boxes may not read can't be copied, nor compared.
must_read() {
	find "$1" \( -type f ! -readable -o -type d ! \( -readable -executable \) \) -printf '%P, whose mode is %m' -quit >/tmp/closed
	[ ! -s /tmp/closed ] || { cat /tmp/closed >&2; exit 54; }
}

# keep NAME TIME: keeps the files, as $n.
keep() {
	[ "$(find points -mindepth 1 -maxdepth 1 ! -name .new | wc -l)" -lt 64 ] || exit 52
	[ -z "$1" ] || ! (find_point "$1") >/dev/null || exit 51
	must_read files
	n=$(($(cat last 2>/dev/null || echo 0) + 1))
	wipe points/.new
	mkdir points/.new
	cp -a files points/.new/files
	printf %s "$1" >points/.new/name
	printf %s "$2" >points/.new/created
	echo "$n" >last
	mv points/.new "points/$n"
}

put_point() {
	printf '{"number": %s, "name": "%s", "created": "%s"}' "$1" "$(cat "points/$1/name")" "$(cat "points/$1/created")"
}

# put_list FOLDER FILE: all that there is in a folder, sorted.  A record is 67 bytes and a path: of each thing one with its
# kind and mode, of a file one more with the SHA-256 of what it holds, and of a link one more with where it leads, behind two
# slashes, which no path has.  So a path has changed when a record of it has come or gone.
put_list() {
	cd "$1"
	find . -mindepth 1 -printf '.%y%05mxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx  %p\0' >/tmp/all
	find . -mindepth 1 -type f -print0 >/tmp/some
	xargs -0 -r sha256sum -z -- </tmp/some >/tmp/sums
	sed -z 's/^/=/' /tmp/sums >>/tmp/all
	find . -mindepth 1 -type l -printf '=llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll  %p//%l\0' >>/tmp/all
	sort -z /tmp/all >"$2"
	cd /work
}

# put_folders FOLDER FILE: those in it, sorted.
put_folders() {
	cd "$1"
	find . -mindepth 1 -type d -print0 >/tmp/some
	sort -z /tmp/some >"$2"
	cd /work
}
