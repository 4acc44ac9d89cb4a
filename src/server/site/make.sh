# Keeps the files as they are.  $1: a name or nothing, $2: the time.
keep "$1" "$2"
put_point "$n"
echo
