#!/usr/bin/env bash
# test.sh all             every test, on real servers; a missing server is a failure
# test.sh pure            what needs no server, and a list of what was left out
# test.sh fuzz [TIME]     every fuzz target for TIME (10s) each
#
# `all` runs layer after layer, from the ground up. A broken layer does not keep the next ones
# from running; the last lines sum up. Every test that was left out is printed with its reason. `go test`
# hides what passing packages print, so the servers' versions are logged by one test that is run with -v.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

servers=localstack/servers/servers.sh
layers=(servers lua+shared functions localstack)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# layer_of: reads package folders, prints "layer folder" lines.
layer_of() {
	while read -r dir; do
		case $dir in
		./localstack/servers* | ./localstack/lint*) echo "servers $dir" ;;
		./lua* | ./migrations* | ./shared/*) echo "lua+shared $dir" ;;
		./functions/*) echo "functions $dir" ;;
		*) echo "localstack $dir" ;;
		esac
	done
}

test_folders() { find . -name '*_test.go' -not -path './build/*' -not -path '*/.*/*' -printf '%h\n' | sort -u; }

# The race detector needs a C compiler.
need_compiler() {
	command -v "$(go env CC)" >/dev/null || localstack/servers/apt.sh gcc libc6-dev
}

# summary: the plain line that says how many packages passed and failed.
summary() {
	local passed broken
	passed=$(grep -c '^ok  ' "$log" || true)
	broken=$(grep -c '^FAIL	' "$log" || true)
	echo "packages: $passed passed, $broken failed"
	[ "$broken" = 0 ] && [ "$passed" -gt 0 ]
}

run_all() {
	local layer folders began ok installing verdicts=() failed=0
	need_compiler
	localstack/browser/install.sh &
	installing=$!
	# Compiling needs no server, so it fills the time of their start. Errors show up again below.
	echo "compiling, and starting the servers meanwhile"
	go build -race ./... >/dev/null 2>&1 &
	began=$SECONDS
	"$servers" up
	echo "servers up in $((SECONDS - began)) s"
	eval "$("$servers" env)"
	export REQUIRE_SERVERS=1
	wait $! || true
	wait $installing || true # without Chromium the tests of the page fail, and say so
	echo "compiled in $((SECONDS - began)) s"
	"$servers" status
	go test -count=1 -v -run '^TestVersions$' ./localstack/servers | sed -n 's/.*_test.go:[0-9]*: using/using/p'

	for layer in "${layers[@]}"; do
		mapfile -t folders < <(test_folders | layer_of | sed -n "s/^$layer //p")
		[ ${#folders[@]} -gt 0 ] || continue
		echo "== $layer"
		began=$SECONDS ok=ok
		go test -json -race -shuffle=on -timeout 10m "${folders[@]}" 2>&1 | go run ./localstack/servers/told | tee -a "$log" ||
			{ ok=FAILED failed=1; }
		verdicts+=("$(printf '%-12s %-6s %d s' "$layer" $ok $((SECONDS - began)))")
	done
	# The race detector allocates by itself, so what asserts allocations runs once without it.
	began=$SECONDS ok=ok
	go test -count=1 -run '^TestRefusalsCostNothing$' ./functions/purchase | tee -a "$log" || { ok=FAILED failed=1; }
	verdicts+=("$(printf '%-12s %-6s %d s' "no race" $ok $((SECONDS - began)))")
	echo "== summary"
	printf '%s\n' "${verdicts[@]}"
	grep '^left out: ' "$log" || echo "left out: nothing"
	summary || failed=1
	return $failed
}

run_pure() {
	local folders failed=0
	unset REDIS_URL KAFKA_BROKERS DATABASE_URL REQUIRE_SERVERS
	mapfile -t folders < <(test_folders)
	go test -count=1 -shuffle=on -v "${folders[@]}" >"$log" 2>&1 || failed=1
	if [ $failed = 0 ]; then
		grep '^ok  ' "$log"
	else
		grep -vE '^(=== |PASS$| *--- (PASS|SKIP)|-test.shuffle )|: left out: ' "$log"
	fi
	echo "== left out for want of a server"
	awk '/^ *--- SKIP: / { names[++n] = $3 }
		/^(ok  |FAIL)\t/ { for (i = 1; i <= n; i++) print $2 " " names[i]; n = 0 }' "$log" | sort
	summary || failed=1
	return $failed
}

run_fuzz() {
	local file target failed=0
	while IFS=: read -r file target; do
		echo "== $target in $(dirname "$file")"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "$(dirname "$file")" || failed=1
	done < <(grep -rEo --include='*_test.go' '^func Fuzz\w*' . | sed 's/func //' | sort)
	return $failed
}

case ${1:-} in
all) run_all ;;
pure) run_pure ;;
fuzz) run_fuzz "${2:-10s}" ;;
*)
	echo "usage: $0 all|pure|fuzz [TIME]" >&2
	exit 2
	;;
esac
