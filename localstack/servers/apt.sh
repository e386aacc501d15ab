#!/usr/bin/env bash
# apt.sh PACKAGE…: installs Debian packages as root or by sudo, without a question.
set -euo pipefail
cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/flashsale
sudo=()
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "installing $* needs root or sudo" >&2
		exit 1
	}
	sudo=(sudo)
	[ -t 0 ] || sudo=(sudo -n)
fi
# apt waits for dpkg's lock but not for the package lists', so two of ours take turns.
apt() {
	flock --close "$cache/apt.lock" "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null >/dev/null
}
mkdir -p "$cache"
echo "installing $* by apt" >&2
apt update
apt install -y --no-install-recommends "$@"
