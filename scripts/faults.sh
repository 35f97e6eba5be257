#!/bin/sh
# One campaign for each fault of disks, nodes and links, and one without: faults.sh TARGET OUT [ARGUMENT ...]. It
# prints a table in Markdown. The arguments are those of lockstep run; OUT gets a JSON file and the traces of each
# campaign. A campaign ends after RUNS runs (300), or after the time FOR. LOCKSTEP is the command, SEED the seed (11).
set -u
target=$1 out=$2
shift 2
mkdir -p "$out"

# campaign NAME ARGUMENT ... runs one campaign and keeps its result.
campaign() {
	name=$1
	shift
	nice -n 19 "${LOCKSTEP:-bin/lockstep}" run "$target" "$@" --runs "${RUNS:-300}" ${FOR:+--for "$FOR"} \
		--seed "${SEED:-11}" --workers 1 --keep-going --no-shrink --json --out "$out/$name" \
		>"$out/$name.json" 2>"$out/$name.err"
}

# row NAME EVENT prints the row of a campaign. EVENT is that of the fault; -: it has none.
row() {
	python3 - "$out/$1" "$1" "$2" <<'END'
import collections, json, sys
path, name, event = sys.argv[1:]
try:
    result = json.load(open(path + ".json"))
except ValueError:
    print("not supported:", name, open(path + ".err").read().strip().rpartition("\n")[2], file=sys.stderr)
    sys.exit()
count = {e["name"]: e["n"] for e in result["events"]}
runs = result["runs"]
found = collections.Counter()
for group in result.get("groups") or []:
    found[group["property"]] += group["findings"]
faults = "not counted" if event == "-" else str(count.get(event, 0))
if name != "none" and result["digest"] == json.load(open(path.rpartition("/")[0] + "/none.json"))["digest"]:
    faults = "none, the same runs"
answered = "%.1f" % (count["return"] / runs) if "return" in count else "-"
print("| `%s` | %d | %s | %s | %d | %s |" % (
    name, runs, faults, answered, count.get("exited", 0),
    ", ".join("%s %d" % f for f in sorted(found.items())) or result["findings"]))
END
}

echo '| option | runs | faults | operations answered a run | members that stopped themselves | findings |'
echo '|---|--:|--:|--:|--:|---|'
campaign none "$@"
if ! [ -s "$out/none.json" ]; then
	cat "$out/none.err" >&2
	exit 1
fi
row none -
strategy=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["strategy"])' <"$out/none.json") || exit
while read -r option event step; do
	campaign "$option" "$@" --set "$option" --strategy "$strategy${step:+,$step}"
	row "$option" "$event"
done <<'END'
sync-errors=0.01 failed-call
read-errors=0.01 failed-call
write-errors=0.005 failed-call
full-disk=0.005 failed-call
short-writes=0.005 -
disk-kilobytes=64 failed-call
bit-rot=0.5 damaged
lost-writes=0.5 damaged
misdirected-writes=0.5 damaged
unreadable-blocks=0.5 damaged
start-kills=0.5 killed
sync-times=1ms..10ms+0.01:2s -
disk-level=posix power-failure
max-pause=20s paused pause=1
max-jump=1m clock jump=1
max-drift=200 -
latency=1ms..50ms -
packet-loss=0.05 -
resets=0.002 connection-reset
half-open=0.001 half-open
slow-reads=0.01 -
lookup-errors=0.1 -
END
