#!/bin/sh
# Installs what the tests need beside Go, from Debian's packages: spin and gcc for the exported models, Python for replicas in
# other languages, Redis for the example of a server. With the word all it also installs chromium and Python's venv for the
# pages, and a JDK and Maven for servers in Java. Does nothing where they are there.
set -eu
missing=""
command -v spin >/dev/null 2>&1 || missing="$missing spin"
command -v gcc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
command -v python3 >/dev/null 2>&1 || missing="$missing python3"
command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
if [ "${1-}" = all ]; then
	command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
		command -v google-chrome >/dev/null 2>&1 || missing="$missing chromium"
	python3 -c 'import ensurepip' >/dev/null 2>&1 || missing="$missing python3-venv"
	command -v javac >/dev/null 2>&1 || missing="$missing default-jdk-headless"
	command -v mvn >/dev/null 2>&1 || missing="$missing maven"
fi
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: please install$missing; there is no apt-get here to do it" >&2
	exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null 2>&1 || {
		echo "setup: please install$missing as root" >&2
		exit 1
	}
	as_root="sudo"
fi
echo "setup: installing$missing"
# The package servers may refuse a burst: try again, slowly.
for pause in 0 10 30; do
	sleep "$pause"
	if $as_root apt-get update -qq && # shellcheck disable=SC2086
		DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null; then
		exit 0
	fi
done
echo "setup: could not install$missing" >&2
exit 1
