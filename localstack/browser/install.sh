#!/usr/bin/env bash
# install.sh: Chromium by apt, a font for it, and axe-core, as the tests of the page need them.
# What is there is left alone, so the second run is quick.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

"$here/../deploy/python.sh" axe >/dev/null
command -v chromium >/dev/null || "$here/../servers/apt.sh" chromium fonts-liberation
