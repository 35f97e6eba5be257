#!/bin/sh
# Where the time of a program in virtual time goes:
#
#   sh scripts/bubble/where.sh PROGRAM run etcdserver --runs 20 --workers 1 ...
#
# makes the runs under perf and adds up its samples by what their stacks say. PROGRAM is one that lockstep built, from
# lockstep/programs in the user's cache. The runs that warm the process up are among those counted.
set -e
samples=$(mktemp)
trap 'rm -f "$samples"' EXIT
perf record -q -o "$samples" -F 499 -g "$@" >/dev/null
perf script -i "$samples" -F ip,sym 2>/dev/null | awk '
function count() {
	if (stack == "") return
	all++
	if (stack ~ /bubble\.\(\*kernel\)\.serve/) what = leaf ~ /^ffff/ ? "files: the kernel" : "files: the model of the disk"
	else if (stack ~ /bubble\.(\(\*machine\)\.rebuild|\(\*deployment\)\.wipe)|os\.RemoveAll/) what = "files: directories emptied and created"
	else if (stack ~ /runtime\.(gcBgMarkWorker|gcStart|bgsweep|bgscavenge|gcAssistAlloc|sweepone|GC)/) what = "garbage collection"
	else if (stack ~ /runtime\.LockstepDiscard/) what = "goroutines of the dead discarded"
	else if (stack ~ /runtime\.(mallocgc|newobject|growslice|makeslice)/) what = "memory allocated"
	else if (stack ~ /lockstep\.\(\*worker\)/) what = "engine: strategy, specs, messages"
	else if (stack ~ /runtime\.(schedule|mcall|gopark|goready|selectgo|chansend|chanrecv|lock2|unlock2|mstart)/) what = "goroutines: waiting and waking"
	else if (leaf ~ /^ffff/) what = "the kernel, for others"
	else what = "the servers and their libraries"
	n[what]++
}
/^$/ { count(); stack = ""; next }
{ if (stack == "") leaf = $1; stack = stack " " $0 }
END { count(); for (what in n) printf "%5.1f %%  %s\n", 100 * n[what] / all, what }' | sort -rn
