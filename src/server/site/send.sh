# The first half of an apply, in the fork: its files and what is known of them, laid aside.
# $1: the number of this apply.
[ -f base ] || exit 53
for left in $(find . -maxdepth 1 \( -name 'out-*' -o -name 'next-*' \) -mmin +720); do # of one that was cut short
	wipe "$left"
done
must_read files
out="/work/out-$1"
trap 'wipe "$out"' EXIT
mkdir "$out"
cp -a files "$out/files"
put_list "$out/files" "$out/list"
put_folders "$out/files" "$out/dirs"
cp base "$out/base"
cp "$out/list" "next-$1"
trap - EXIT
