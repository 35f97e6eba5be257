#!/bin/sh
# Runs a second of lockstep run, of a fleet of one worker and of one of two, each with one run at a time, and the ratios.
# TARGET, STRATEGY and RUNS may be set.
set -eu
lockstep=${LOCKSTEP:-./bin/lockstep}
campaign="${TARGET:-etcdraft} --strategy ${STRATEGY:-walk} --runs ${RUNS:-20000} --seed 1 --no-shrink"
dir=$(mktemp -d)
pids=""
trap 'kill $pids 2>/dev/null || true; rm -rf "$dir"' EXIT

speed() { sed 's/.*"runs_per_sec":\([0-9.]*\).*/\1/'; }
$lockstep fleet serve --dir "$dir" --listen 127.0.0.1:14229 --page "" --token speed > /dev/null 2>&1 &
pids=$!
url=nats://speed@127.0.0.1:14229
until $lockstep fleet status $url > /dev/null 2>&1; do sleep 1; done
# shellcheck disable=SC2086
alone=$($lockstep run $campaign --workers 1 --out "$dir/out" --json | speed)
$lockstep fleet join $url --workers 1 > /dev/null 2>&1 &
pids="$pids $!"
# shellcheck disable=SC2086
one=$($lockstep fleet run $campaign --fleet $url --out "$dir/out" --json 2> /dev/null | speed)
$lockstep fleet join $url --workers 1 > /dev/null 2>&1 &
pids="$pids $!"
# shellcheck disable=SC2086
two=$($lockstep fleet run $campaign --fleet $url --out "$dir/out" --json 2> /dev/null | speed)
awk -v a="$alone" -v b="$one" -v c="$two" 'BEGIN { printf "run %.0f runs/s; fleet of one %.0f (%.2f of run); fleet of two %.0f (%.2f of one)\n", a, b, b/a, c, c/b }'
