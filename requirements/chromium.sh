#!/bin/sh
# Gets Chromium, in which the page is tested: installs the Debian package where that is allowed, else unpacks it with
# everything it needs into the virtual environment named as the first argument.
set -eu
environment=$(cd "$1" && pwd)

command -v apt-get >/dev/null || {
    echo "chromium is missing: install it with this machine's package manager (the program is chromium)" >&2
    exit 1
}

install() {
    "$@" apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 && return
    "$@" apt-get update -qq && "$@" apt-get install -y -qq --no-install-recommends chromium >/dev/null
}

unpack() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
    own="-o Dir::State::Lists=$work/lists -o Dir::Cache=$work/cache -o Debug::NoLocking=1"
    cd "$work"
    # shellcheck disable=SC2086 -- these are several words
    apt-get $own update -qq
    # shellcheck disable=SC2086
    apt-get $own install -qq --no-install-recommends --print-uris chromium | cut -d"'" -f2 | sed -n '/\.deb$/p' > wanted
    test -s wanted
    # shellcheck disable=SC2086
    sed 's|.*/||; s|_.*||' wanted | xargs apt-get $own download -qq
    for package in *.deb; do dpkg-deb --extract "$package" "$environment/debian"; done
    libraries=$(find "$environment/debian/usr/lib" -maxdepth 1 -name '*-linux-gnu*' -type d | head -n 1)
    {
        echo '#!/bin/sh'
        echo "LD_LIBRARY_PATH=$libraries exec $environment/debian/usr/lib/chromium/chromium \"\$@\""
    } > "$environment/bin/chromium"
    chmod +x "$environment/bin/chromium"
}

if [ "$(id -u)" = 0 ]; then
    install env DEBIAN_FRONTEND=noninteractive
elif sudo -n true 2>/dev/null; then
    install sudo -n env DEBIAN_FRONTEND=noninteractive
else
    unpack
fi
