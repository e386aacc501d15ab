#!/usr/bin/env bash
# invoke.sh FUNCTION: calls one function once with its golden event and prints the answer.
#
# In Lambda's container by `sam local invoke` where a Docker daemon answers, else the same program
# and event in the emulator that such a container runs. Exits 0 unless the function fails or does not
# start. Starts Redis, Kafka and PostgreSQL if they are not up.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
function=${1:-}
[[ $function =~ ^[a-z]+$ && -d functions/$function ]] || {
	echo "which function? make invoke FUNCTION=..., one of: $(cd functions && echo *)" >&2
	exit 2
}
events=(functions/"$function"/testdata/*.json)
event=${events[0]}
for candidate in "${events[@]}"; do
	[ "${candidate##*/}" != event.json ] || event=$candidate
done

arch=amd64 machine=x86_64
[ "$(uname -m)" = x86_64 ] || arch=arm64 machine=arm64
programs=$(localstack/deploy/python.sh sam)
localstack/servers/servers.sh up
eval "$(localstack/servers/servers.sh env)"
go build -buildvcs=false -o build/deploy ./localstack/deploy

if docker info >/dev/null 2>&1; then
	logical=$(sed -n "s/^  \([A-Z][A-Za-z]*\):\$/\1/p" template.yaml | while read -r id; do
		[ "${id,,}" != "$function" ] || echo "$id"
	done | head -n 1)
	state=$(mktemp -d)
	trap 'kill "$relays" 2>/dev/null; rm -rf "$state"' EXIT
	# A container of SAM's is on Docker's bridge, whatever network it is told.
	host=$(docker network inspect bridge --format '{{(index .IPAM.Config 0).Gateway}}')
	build/deploy variables -name invoke -redis 13 -host "$host" >"$state/variables.json" &
	relays=$!
	until [ -s "$state/variables.json" ]; do
		kill -0 "$relays" || exit 1
		sleep 0.1
	done
	export SAM_CLI_TELEMETRY=0
	# Without these the template's defaults count: TLS to Kafka, and arm64.
	stage=(--parameter-overrides "Stage=local Architecture=$machine")
	ARCH=$arch flock build/lock "$programs/sam" build "$logical" --config-env local "${stage[@]}" -b "$state/build" >&2
	"$programs/sam" local invoke "$logical" -t "$state/build/template.yaml" "${stage[@]}" --event "$event" \
		--env-vars "$state/variables.json" | tee "$state/answer"
	if grep -q '"errorType"' "$state/answer"; then exit 1; fi
else
	emulator=("$programs"/../lib/python3*/site-packages/samcli/local/rapid/aws-lambda-rie-"$machine")
	flock build/lock make -s "build/$arch/$function/bootstrap"
	build/deploy invoke -name invoke -redis 13 -event "$event" -program "build/$arch/$function/bootstrap" -emulator "${emulator[0]}"
fi
