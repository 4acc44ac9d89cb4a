# What a fork begins with, and beside it what that was: so that what has changed since is known when it is applied.
# $2: the time.
keep '' "$2"
trap 'wipe "/work/points/$n"' EXIT
put_list "/work/points/$n/files" "/work/points/$n/base"
trap - EXIT
printf '{"number": %s}\n' "$n"
