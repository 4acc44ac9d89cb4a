# The second half of an apply, in the origin: what the fork has changed is brought into `files`.
# $1: the number of this apply, $2: whose word counts where both have changed something ("fail": nothing is done
# then), $3: the time, or nothing: nothing is to be changed.
export sent="/work/in-$1" way="$2"
[ -d "$sent" ] || exit 45
trap 'wipe "$sent"' EXIT
touch "$sent"
for left in $(find . -maxdepth 1 -name 'in-*' -mmin +720); do # of one that was cut short; others wait for their turn
	wipe "$left"
done
must_read files
put_list /work/files /tmp/list
put_folders /work/files /tmp/origin.dirs

# --- what is to be done

# Sets of paths, each a sorted file: `began`, `fork` and `origin` are what there is on each side, `.dirs` the folders of it and
# `.own` what that side has changed since; `todo` is what the fork has changed and the origin has otherwise.  Paths begin with
# "./", so that none is an option.
paths() { cut -z -c68- "$1" | sed -z 's://.*$::' | sort -zu; }
both() { comm -z -12 "$1" "$2"; }
less() { comm -z -23 "$1" "$2"; }
count() { tr -dc '\0' <"$1" | wc -c; }
differ() {
	less "$1" "$2" >some
	less "$2" "$1" >>some
	paths some
}
above() { # the folders that lead to them
	cp "$1" some
	: >all
	while sed -z -n 's:^\(.*/.*\)/[^/]*$:\1:p' some >sums && sort -zu sums >some && [ -s some ]; do
		cat some >>all
	done
	sort -zu all
}

cd /tmp
paths "$sent/base" >began
paths "$sent/list" >fork
paths list >origin
cp "$sent/dirs" fork.dirs
less fork fork.dirs >fork.files
less origin origin.dirs >origin.files
differ "$sent/base" "$sent/list" >fork.own
differ "$sent/base" list >origin.own
differ "$sent/list" list >apart
both fork.own apart >todo

# A conflict is a path that both have changed, each otherwise; and what can't stand beside what the other has: a folder where
# the origin has put a file (`blocked`), a file in place of a folder in which the origin has changed something.
both todo origin.own >clash
both todo fork >x
above x >over
both over origin.own >x
both x origin.files >blocked
both origin.own origin >x
above x >over
both todo fork.files >x
both x origin.dirs >y
both y over >buried
sort -zu clash blocked buried >conflicts

if [ "$way" = origin ]; then # what it has stays, and nothing comes to lie beneath it
	less todo conflicts >x
	mv x todo
	cat >drop <<'END'
for over; do
	export over
	xargs -0 -r sh -c 'for p; do case "$p" in "$over"/*) ;; *) printf "%s\0" "$p" ;; esac; done' sh <todo >x
	mv x todo
done
END
	xargs -0 -r sh drop <blocked
fi

# A folder that the fork has not any more stays while the origin has something in it that stays.
less todo fork >gone
less origin gone >x
above x >over
both gone over >x
less todo x >y
mv y todo
less todo fork >gone
both todo fork >there
less there origin >added
both there origin >modified
both there fork.dirs >x
less x began >y
less y origin >new.dirs # these are moved as they are, with all that is in them

# --- it is done

# What boxes have laid in `files` may be a link to anything, and whoever has the workspace by `run` moves on meanwhile.  So
# nothing is done to a path: what is done is done in the folder itself, to a name in it, once that is known to be where it
# should.  See `go`.
rows() { sed -z 's:/\([^/]*\)$://\1:' "$1"; } # FOLDER//NAME

apply() {
	cd /work/files
	find . -type d ! -perm -u+w -printf '%m %p\0' >/tmp/shut
	sed -z 's/^[^ ]* /u+w /' /tmp/shut >/tmp/some
	xargs -0 -r sh /tmp/modes </tmp/some
	umask 022

	# What is in the way goes first: what the fork has as a folder, for then nothing comes to lie behind a link.
	both /tmp/there /tmp/fork.dirs >/tmp/x
	both /tmp/x /tmp/origin.files >/tmp/some
	[ "$way" != fork ] || cat /tmp/blocked >>/tmp/some
	both /tmp/gone /tmp/origin.files >>/tmp/some
	rows /tmp/some | sort -zu >/tmp/x
	xargs -0 -r sh /tmp/each 'rm -f' </tmp/x
	both /tmp/gone /tmp/origin.dirs | sort -zr >/tmp/some # what lies in a folder comes before it
	rows /tmp/some >/tmp/x
	xargs -0 -r sh /tmp/each rmdir </tmp/x
	both /tmp/there /tmp/fork.files >/tmp/x
	both /tmp/x /tmp/origin.dirs >/tmp/some
	rows /tmp/some | sort -z >/tmp/x
	xargs -0 -r sh /tmp/each 'rm -rf' </tmp/x

	rows /tmp/new.dirs >/tmp/some
	whole=yes xargs -0 -r sh /tmp/folders </tmp/some
	less /tmp/there /tmp/new.dirs >/tmp/x
	both /tmp/x /tmp/fork.dirs >/tmp/y
	(cd "$sent/files" && xargs -0 -r stat --printf '%a %n\0' -- </tmp/y >/tmp/wanted)
	find "$sent/files" -type d ! -perm -u+w -exec chmod u+w {} +
	rows /tmp/y >/tmp/some
	whole='' xargs -0 -r sh /tmp/folders </tmp/some
	less /tmp/x /tmp/y >/tmp/some
	rows /tmp/some | sort -z >/tmp/x # folder by folder
	xargs -0 -r sh /tmp/each move </tmp/x
	cat /tmp/shut /tmp/wanted >/tmp/some
	xargs -0 -r sh /tmp/modes </tmp/some
}

cat >go <<'END'
set -e
# Into a folder of the origin's.  The kernel says where that is: elsewhere, where one of its parents is a link.
go() { cd -P "/work/files${1#.}" 2>/dev/null && [ "$PWD" = "/work/files${1#.}" ]; }
# The same, and what is missing of it is made.
reach() {
	go "$1" && return
	[ "$1" != . ] || exit 1
	reach "${1%/*}"
	[ -d "./${1##*/}" ] || mkdir "./${1##*/}"
	go "$1" || { printf '%s is no folder\n' "$1" >&2; exit 1; }
}
END
cat >each <<'END'
# Does $1 to each of the rest, those of one folder at once.
. /tmp/go
deed=$1 last=
shift
: >/tmp/batch
flush() {
	[ -s /tmp/batch ] || return 0
	if [ "$deed" = move ]; then
		reach "$last"
		xargs -0 mv -f -t . -- </tmp/batch
	elif go "$last"; then # or it is gone
		xargs -0 $deed -- </tmp/batch
	fi
	: >/tmp/batch
}
for p; do
	if [ "${p%//*}" != "$last" ]; then
		flush
		last=${p%//*}
	fi
	from=./
	[ "$deed" != move ] || from="$sent/files/$last/"
	# It may have come along with a folder.
	[ "$deed" = move ] && [ ! -e "$from${p##*//}" ] && [ ! -L "$from${p##*//}" ] || printf '%s\0' "$from${p##*//}" >>/tmp/batch
done
flush
END
cat >folders <<'END'
# Moves folders into place, $whole: with all that is in them; what has come along with another is there already.
. /tmp/go
for p; do
	from="$sent/files/${p%//*}/${p##*//}" to="./${p##*//}"
	[ -d "$from" ] && ! go "${p%//*}/${p##*//}" || continue
	reach "${p%//*}"
	if [ -z "$whole" ]; then
		mkdir "$to"
	elif [ -w "$from" ]; then
		mv -T "$from" "$to"
	else # one that can't be written can't be moved
		mode=$(stat -c %a "$from")
		chmod u+w "$from"
		mv -T "$from" "$to"
		! go "${p%//*}/${p##*//}" || chmod "$mode" .
	fi
done
END
cat >modes <<'END'
# Folders get the modes that they should have; the last word counts.
. /tmp/go
for row; do
	! go "${row#* }" || chmod "${row%% *}" .
done
END

n=0
if [ -n "$3" ] && [ -s todo ] && { [ "$way" != fail ] || [ ! -s conflicts ]; }; then
	cd /work
	keep "apply-$1" "$3"
	apply
	cd /tmp
fi

# --- what it came to

printf 'point %s\0added %s\0modified %s\0deleted %s\0conflicts %s\0' \
	"$n" "$(count added)" "$(count modified)" "$(count gone)" "$(count conflicts)"
put() { head -z -n 1000 "$1" | sed -z "s:^\\./:$2 :"; }
put added A
put modified M
put gone D
put conflicts C
