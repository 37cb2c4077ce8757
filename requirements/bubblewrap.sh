#!/bin/sh
# Gets bubblewrap, which holds the scripts of skills: installs the Debian package where that is allowed, else unpacks
# it into the virtual environment named as the first argument.
set -eu
environment=$(cd "$1" && pwd)

command -v apt-get >/dev/null || {
    echo "bubblewrap is missing: install it with this machine's package manager (the program is bwrap)" >&2
    exit 1
}

install() {
    "$@" apt-get install -y -qq --no-install-recommends bubblewrap >/dev/null 2>&1 && return
    "$@" apt-get update -qq && "$@" apt-get install -y -qq --no-install-recommends bubblewrap >/dev/null
}

unpack() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
    own="-o Dir::State::Lists=$work/lists -o Dir::Cache=$work/cache -o Debug::NoLocking=1"
    cd "$work"
    apt-get download -qq bubblewrap 2>/dev/null || {
        # shellcheck disable=SC2086 -- these are several words
        apt-get $own update -qq && apt-get $own download -qq bubblewrap
    }
    dpkg-deb --extract bubblewrap_*.deb "$environment/debian"
    ln -sf ../debian/usr/bin/bwrap "$environment/bin/bwrap"
}

if [ "$(id -u)" = 0 ]; then
    install env DEBIAN_FRONTEND=noninteractive
elif sudo -n true 2>/dev/null; then
    install sudo -n env DEBIAN_FRONTEND=noninteractive
else
    unpack
fi
