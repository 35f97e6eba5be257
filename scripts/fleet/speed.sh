#!/bin/sh
# Runs a second of lockstep run, of two of them beside each other (which is what the machine has for two of anything),
# of a fleet of one worker and of one of two, each with one run at a time; the ratios; and, where /proc has them, the
# seconds of processor time of server and workers. TARGET, STRATEGY and RUNS may be set.
set -eu
lockstep=${LOCKSTEP:-./bin/lockstep}
campaign="${TARGET:-etcdraft} --strategy ${STRATEGY:-walk} --runs ${RUNS:-20000} --seed 1 --no-shrink"
dir=$(mktemp -d)
pids=""
trap 'kill $pids 2>/dev/null || true; rm -rf "$dir"' EXIT

speed() { sed 's/.*"runs_per_sec":\([0-9.]*\).*/\1/'; }
# shellcheck disable=SC2086
run() { $lockstep run $campaign --workers 1 --out "$dir/out$1" --json 2> /dev/null | speed; }
# shellcheck disable=SC2086
fleet() { $lockstep fleet run $campaign --fleet $url --token-file "$token" --out "$dir/out" --json 2> /dev/null | speed; }
# Processor time of processes, with that of their children that have ended, in seconds.
used() {
	for pid in "$@"; do cat "/proc/$pid/stat" 2> /dev/null || echo; done |
		awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); t += $12 + $13 + $14 + $15 } END { printf "%.1f\n", t / hz }'
}

$lockstep fleet serve --dir "$dir" --listen 127.0.0.1:14229 --page "" > /dev/null 2>&1 &
server=$! pids=$!
url=nats://127.0.0.1:14229
token=$dir/token
until $lockstep fleet status $url --token-file "$token" > /dev/null 2>&1; do sleep 1; done
alone=$(run 1)
run 1 > "$dir/beside1" &
other=$!
run 2 > "$dir/beside2"
wait $other
beside=$(cat "$dir/beside1" "$dir/beside2" | awk '{ s += $1 } END { print s }')
$lockstep fleet join $url --token-file "$token" --workers 1 > /dev/null 2>&1 &
first=$! pids="$pids $!"
one=$(fleet)
sleep 2 # until the program of the worker has ended, and is counted
echo "fleet of one: server $(used $server) s, worker $(used $first) s of processor time"
$lockstep fleet join $url --token-file "$token" --workers 1 > /dev/null 2>&1 &
second=$! pids="$pids $!"
two=$(fleet)
sleep 2
echo "both fleets: server $(used $server) s, workers $(used $first $second) s of processor time"
awk -v a="$alone" -v t="$beside" -v b="$one" -v c="$two" 'BEGIN {
	printf "run %.0f runs/s; two beside each other %.0f (%.2f of one)\n", a, t, t/a
	printf "fleet of one %.0f (%.2f of run); fleet of two %.0f (%.2f of one, %.2f of two runs beside each other)\n", b, b/a, c, c/b, c/t }'
