#!/usr/bin/env bash
# python.sh NAME: installs the programs that python/NAME.txt pins, and prints the folder that holds them.
#
# Each list has a virtual environment of its own in the cache folder, because their programs
# want different versions of the same libraries. A changed list makes a new one.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/flashsale
list=$here/python/$1.txt
place=$cache/tools/python-$1-$(sha256sum <"$list" | head -c 12)

# The lists are for Python 3.11, Debian's own. Others may work.
python=python3
if [ -x /usr/bin/python3.11 ]; then python=/usr/bin/python3.11; fi

install() {
	[ ! -e "$place/complete" ] || return 0
	"$python" -c 'import ensurepip, venv' 2>/dev/null || {
		"$here/../servers/apt.sh" python3 python3-venv
		python=/usr/bin/python3
	}
	echo "installing $1 (a minute or two, once)" >&2
	rm -rf "$place"
	"$python" -m venv "$place"
	"$place/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$list" >&2
	touch "$place/complete"
}

# One installs, the others wait for it.
mkdir -p "$cache/tools"
exec 9>"$cache/tools/$1.lock"
flock 9
install "$1"
echo "$place/bin"
