# The checkpoints there are.
comma=
printf '{"checkpoints": ['
find points -mindepth 1 -maxdepth 1 ! -name .new -printf '%f\n' >/tmp/some
for n in $(sort -n /tmp/some); do
	[ -e "points/$n/created" ] && [ -e "points/$n/files" ] || continue
	printf %s "$comma"
	put_point "$n"
	comma=', '
done
echo ']}'
