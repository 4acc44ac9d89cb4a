# Brings the files of a checkpoint back.  $1: its number or name.
# The files come first, whole; what is in the way goes when nothing but renames can fail.  The folder itself stays: sandboxes
# have it.
n=$(find_point "$1")
wipe .old
mkdir .old
cp -a "points/$n/files" .old/files
chmod -R u+rwX files
find files -mindepth 1 -maxdepth 1 -exec rm -rf {} +
# A folder that can't be written can't be moved either.
find .old/files -mindepth 1 -maxdepth 1 -type d ! -perm -u+w -exec chmod u+w {} +
find .old/files -mindepth 1 -maxdepth 1 -exec mv -t files {} +
cd "points/$n/files"
# In the folder itself: a link that somebody has put in its place meanwhile is not followed.
find . -mindepth 1 -maxdepth 1 -type d ! -perm -u+w -printf '%m\0%P\0' >/tmp/some
# shellcheck disable=SC2016
xargs -0 -r -n 2 sh -c '! cd -P "/work/files/$2" || [ "$PWD" != "/work/files/$2" ] || chmod "$1" .' sh </tmp/some
cd /work
chmod --reference=.old/files files
touch -r .old/files files
rm -rf .old
put_point "$n"
echo
