#!/usr/bin/env bash
# tool.sh MODULE@VERSION: builds a Go program into the cache folder, once, and prints its path.
#
# Tools are pinned where they are used, never in go.mod. One built by another Go refuses new code.
set -euo pipefail

cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/flashsale
bin=$cache/tools/$(go env GOVERSION)-${1##*@}
name=${1%@*}
case $name in
*/v[0-9]) name=${name%/*} ;; # Go names the program without the major version
esac
[ -x "$bin/${name##*/}" ] || GOBIN=$bin go install "$1" >&2
echo "$bin/${name##*/}"
