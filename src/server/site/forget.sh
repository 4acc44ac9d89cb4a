# Takes a checkpoint away.  $1: its number.
[ -e "points/$1/created" ] || exit 44
wipe points/.new # of one that was cut short, or is about to be gone
mv "points/$1" points/.new
wipe points/.new
