#!/usr/bin/env bash
# bench.sh [OPTIONS]: builds what is measured, starts servers for it alone, and takes the figures.
#
# KEEP=1 leaves the servers up for the next run. Options are those of build/bench.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export FLASHSALE_SERVERS=bench
servers=localstack/servers/servers.sh
arch=amd64 machine=x86_64
[ "$(uname -m)" = x86_64 ] || arch=arm64 machine=arm64

echo "building"
mkdir -p build
go build -o build/bench ./localstack/bench
build/bench -check "$@" # before all that takes minutes
python=$(localstack/deploy/python.sh sam)
emulator=("$python"/../lib/python3*/site-packages/samcli/local/rapid/aws-lambda-rie-"$machine")
programs=()
for main in functions/*/lambda/main.go; do
	name=${main#functions/}
	programs+=("build/$arch/${name%%/*}/bootstrap")
done
flock build/lock make -s "${programs[@]}"
go build -o build/dev ./localstack/dev

[ -n "${KEEP:-}" ] || trap '"$servers" down' EXIT
"$servers" up
eval "$("$servers" env)"
build/bench -emulator "${emulator[0]}" -programs "build/$arch" "$@"
