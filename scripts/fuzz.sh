#!/bin/sh
# One fuzz target: DIRECTORY NAME TIME. At the end of the time, go test may report that end as a failure, "context
# deadline exceeded" without a failing input. Such a run is repeated, at most twice.
log=$(mktemp) || exit 1
trap 'rm -f "$log" "$log.status"' EXIT
for attempt in 1 2 3; do
	{
		${GO:-go} -C "$1" test . -run '^$' -fuzz "^$2\$" -fuzztime "$3" -fuzzminimizetime 10x
		echo $? >"$log.status"
	} 2>&1 | tee "$log"
	status=$(cat "$log.status")
	if [ "$status" = 0 ] || grep -q 'Failing input' "$log" || ! grep -q 'context deadline exceeded' "$log"; then
		exit "$status"
	fi
done
exit "$status"
