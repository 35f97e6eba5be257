#!/bin/sh
# Looks for the known bugs of etcd in releases of 3.5 that have them and in those that fixed them: known.sh RUNS VERSION...
# BUGS='17780|18089' looks for these alone. RATE=true makes all runs of releases that have a bug, too, to measure how
# often it occurs.
# Each release is built once, which takes a minute or more. Run from the top of the project, after make build.
set -eu
lockstep=$PWD/bin/lockstep
runs=$1
shift
cd target/etcdserver
mod=$(go run ../../internal/modules modfile v3.5)
library=go.etcd.io/etcd/server/v3
for version in "$@"; do
	go mod edit -replace "$library=$library@$version" "$mod"
	GOWORK=off GOFLAGS=-mod=mod "$lockstep" go test -modfile "$mod" -timeout 1h -run "KnownBugs/^(${BUGS:-.*})\$" -v . -known "$runs" "-rate=${RATE:-false}"
done
