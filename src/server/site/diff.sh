# What has changed.  $1: since which checkpoint, $2: until which, or nothing: until now.
# File by file, as the lists tell: diff(1) fails with whole folders where a link has come or gone (3.8).
n=$(find_point "$1")
old=points/$n/files new=files
if [ -n "$2" ]; then
	n=$(find_point "$2")
	new=points/$n/files
fi
must_read "/work/$old"
must_read "/work/$new"
put_list "/work/$old" /tmp/old
put_list "/work/$new" /tmp/new
cd /tmp
ln -s "/work/$old" a
ln -s "/work/$new" b
comm -z -23 old new | sed -z -n '/^=/p' >gone
comm -z -13 old new | sed -z -n '/^=/p' >come
files() { sed -z '/^=l/d' "$1" | cut -z -c68- | sort -z; }
links() { sed -z -n '/^=l/p' "$1" | cut -z -c68- | sed -z "s://: -> :; s:^\\.:Link $2:; s:\$: $3:" | tr '\n\0' '?\n'; }
files gone >gone.files
files come >come.files
{
	comm -z -23 gone.files come.files | sed -z 's/^\./D/'
	comm -z -13 gone.files come.files | sed -z 's/^\./A/'
	comm -z -12 gone.files come.files | sed -z 's/^\./M/'
} >all
sort -z -k 1.2 all >some
cat >each <<'END_OF_EACH'
set -e
for p; do
	old="a${p#?}" new="b${p#?}"
	case "$p" in
	D*) new=/dev/null ;;
	A*) old=/dev/null ;;
	esac
	printf 'diff -u %s %s\0' "$old" "$new" | tr '\n\0' '?\n'
	diff -u -- "$old" "$new" || [ $? -lt 2 ]
done
END_OF_EACH
xargs -0 -r sh each <some
links gone a 'is gone'
links come b 'is new'
