#!/bin/sh
# How much memory a program takes while it makes runs, in MiB, every two seconds:
#
#   sh scripts/bubble/memory.sh PROGRAM run etcdserver --runs 200 --workers 1 ...
#
# PROGRAM is one that lockstep built, from lockstep/programs in the user's cache.
"$@" >/dev/null 2>&1 &
while sleep 2 && kill -0 $! 2>/dev/null; do
	awk '/^VmRSS/ { printf "%d ", $2 / 1024 }' "/proc/$!/status" 2>/dev/null
done
wait $!
echo
