#!/usr/bin/env bash
# The deployed system on one machine: template.yaml with its local stage and the real programs,
# deployed by SAM through CloudFormation on LocalStack, without a token.
#
#   localstack.sh up [NAME]     starts it anew and returns when a shopper can buy; the last line is
#                               the API's address. NAME (local) keeps two of them apart.
#   localstack.sh down [NAME]   stops all of it
#
# LocalStack runs in a container where a Docker daemon answers (../compose.yaml), else as a process
# from PyPI. Either way functions run as plain processes: see executor/.
# Redis, Kafka and PostgreSQL are those of ../servers; `down` stops them if `up` started them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
name=${2:-local}
[[ $name =~ ^[a-z]+$ ]] || {
	echo "localstack: a name is made of small letters" >&2
	exit 2
}
stack=flash-sale-$name
# See stage/stage.go for the database. The ports are the first to be tried.
redis_database=15 first_port=4566 first_provider_port=3500
[ "$name" = local ] || redis_database=14 first_port=4766 first_provider_port=3700
cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/flashsale
run=$cache/run/localstack-$name # process.sh keeps a folder for each process in it
servers_too=$run.servers # exists if we started the servers, and so stop them
servers=$here/../servers/servers.sh

emulator_mark() { echo localstack.runtime.main; }
providers_mark() { echo "$run/deploy serve"; }
# shellcheck disable=SC2034 # read by process.sh
emulator_signal=TERM providers_signal=TERM

# shellcheck source-path=SCRIPTDIR
source "$here/../servers/process.sh"

say() { echo "localstack: $*" >&2; }
die() {
	say "$*"
	exit 1
}

# No call leaves this machine, whatever account the user has.
aws_environment() {
	export AWS_ENDPOINT_URL=$endpoint AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1
	export AWS_DEFAULT_REGION=us-east-1 AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true
	unset AWS_PROFILE AWS_SESSION_TOKEN
}

compose() { LOCALSTACK_PORT=$port docker compose -p "$stack" -f "$here/../compose.yaml" "$@"; }

# healthy: it answers, and not another one that was faster at this port.
healthy() {
	[ -e "$run/emulator/docker" ] || grep -q '^Ready\.$' "$run/emulator/log" || return 1
	"$programs/python" -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=5)' "$endpoint/_localstack/health" 2>/dev/null
}

start_emulator() {
	if docker info >/dev/null 2>&1 && compose up -d >"$run/emulator/log" 2>&1; then
		touch "$run/emulator/docker"
	else
		local state=$run/emulator
		mkdir -p "$state/tmp"
		# OVERRIDE_IN_DOCKER: in somebody's container it would listen to the world. The last
		# line's settings keep it from calling home.
		launch emulator env PYTHONPATH="$here/executor" PYTHONDONTWRITEBYTECODE=1 LAMBDA_RUNTIME_EXECUTOR=process \
			OVERRIDE_IN_DOCKER=0 FILESYSTEM_ROOT="$state/fs" TMPDIR="$state/tmp" XDG_CACHE_HOME="$state/cache" \
			GATEWAY_LISTEN="127.0.0.1:$port" LOCALSTACK_HOST="127.0.0.1:$port" \
			CFN_IGNORE_UNSUPPORTED_RESOURCE_TYPES=0 \
			SKIP_SSL_CERT_DOWNLOAD=1 DISABLE_EVENTS=1 DNS_ADDRESS=0 \
			"$programs/python" -m localstack.runtime.main
	fi
	for _ in $(seq 600); do
		healthy && return 0
		[ -e "$run/emulator/docker" ] || is_running emulator || break
		sleep 0.2
	done
	tail -n 20 "$run/emulator/log" >&2
	die "LocalStack did not start; its log is $run/emulator/log"
}

# build: as for production, for this machine's processor.
build() {
	local machine=x86_64 arch=amd64
	[ "$(uname -m)" = x86_64 ] || machine=arm64 arch=arm64
	architecture=$machine
	mkdir -p "$root/build"
	ARCH=$arch sam build --config-env local --parameter-overrides "Architecture=$machine" -b "$run/build" >"$run/build.log" 2>&1 ||
		{
			tail -n 20 "$run/build.log" >&2
			die "sam build failed"
		}
}

# The lock is for programs in the folder build, which others may be making too.
sam() { (cd "$root" && SAM_CLI_TELEMETRY=0 flock build/lock "$sam_programs/sam" "$@"); }

deploy() {
	"$programs/aws" s3 mb s3://deployments >/dev/null
	"$programs/aws" secretsmanager create-secret --name "$stack" --secret-string "file://$run/secret.json" >/dev/null
	sam deploy --config-file "$root/samconfig.toml" --config-env local -t "$run/build/template.yaml" --stack-name "$stack" --parameter-overrides \
		Stage=local "Architecture=$architecture" "SecretName=$stack" "KafkaBrokers=$KAFKA_BROKERS" "KafkaTopicPrefix=$name" \
		KafkaClusterArn=arn:aws:kafka:us-east-1:000000000000:cluster/none/none \
		"JwtIssuer=http://127.0.0.1:$provider_port/dev" JwtAudience=flash-sale \
		"JwksUrl=http://127.0.0.1:$provider_port/dev/jwks.json" >"$run/deploy.log" 2>&1 ||
		{
			grep -E 'FAILED|Error|error' "$run/deploy.log" >&2 || tail -n 20 "$run/deploy.log" >&2
			die "sam deploy failed; all of it is in $run/deploy.log"
		}
}

output() {
	"$programs/aws" cloudformation describe-stacks --stack-name "$stack" --output text \
		--query "Stacks[0].Outputs[?OutputKey=='$1'].OutputValue"
}

start_providers() {
	launch providers "$run/deploy" serve -state "$run" -name "$name" -stack "$stack" -endpoint "$endpoint" -api "$api" -port "$provider_port"
	until grep -q '^ready$' "$run/providers/log"; do
		is_running providers || {
			tail -n 5 "$run/providers/log" >&2
			die "the sale could not be started"
		}
		sleep 0.1
	done
}

up() {
	trap 'say "interrupted; make localstack-down stops what has been started"; exit 130' INT TERM
	stop_stack
	mkdir -p "$run/emulator" "$run/providers"
	programs=$("$here/python.sh" localstack)
	sam_programs=$("$here/python.sh" sam)
	local before
	before=$("$servers" status)
	[ "$(grep -c ' down$' <<<"$before")" != 3 ] || touch "$servers_too"
	"$servers" up
	eval "$("$servers" env)"
	port=$(free_port "$first_port")
	provider_port=$(free_port "$first_provider_port")
	endpoint=http://127.0.0.1:$port
	say "starting LocalStack"
	start_emulator
	aws_environment
	(cd "$root" && go build -buildvcs=false -o "$run/deploy" ./localstack/deploy)
	"$run/deploy" stage -state "$run" -name "$name" -redis "$redis_database"
	say "building the functions"
	build
	say "deploying template.yaml"
	deploy
	api=$endpoint/_aws/execute-api/$(output ApiId)/local
	say "migrating the database, loading a sale"
	start_providers
	tell
}

tell() {
	local function
	echo "functions, by $endpoint/2015-03-31/functions/NAME/invocations:"
	for function in "$root"/functions/*/; do echo "  $stack-$(basename "$function")"; done
	echo "$(grep '^sale ' "$run/providers/log") is loaded and opens within seconds"
	echo "identity and payment providers: http://127.0.0.1:$provider_port/dev/"
	echo "logs: $run"
	echo "$api"
}

stop_stack() {
	if is_running providers; then stop_process providers; fi
	if [ -e "$run/emulator/docker" ]; then
		port=0 compose down -v >/dev/null 2>&1 || say "docker compose down failed"
	elif is_running emulator; then
		stop_process emulator
	fi
	rm -rf "$run"
}

down() {
	stop_stack
	[ ! -e "$servers_too" ] || {
		"$servers" down
		rm -f "$servers_too"
	}
}

# One at a time for each name.
mkdir -p "$cache/run"
exec 9>"$cache/run/localstack-$name.lock"
flock -n 9 || {
	say "waiting for another localstack.sh $name that is at work"
	flock -w 600 9 || die "it has been at work for 10 minutes"
}
case ${1:-} in
up | down) "$1" ;;
*)
	echo "usage: $0 up|down [NAME]" >&2
	exit 2
	;;
esac
