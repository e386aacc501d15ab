#!/usr/bin/env bash
# Real servers for tests: Redis, Apache Kafka and PostgreSQL on loopback.
#
#   servers.sh up      start what is not up yet; installs what is missing; safe to repeat; with names only those
#   servers.sh env     print `export REDIS_URL=… KAFKA_BROKERS=… DATABASE_URL=…`, one per line
#   servers.sh status  one line per server
#   servers.sh down    stop everything that `up` started
#
#   servers.sh kill NAME    SIGKILL one of them
#   servers.sh revive NAME  start it again on its port with the data it has left
#   servers.sh pid NAME     its process id, for other signals
#   servers.sh address NAME
#   servers.sh cluster up|down|address|kill PORT|revive PORT|pid PORT|folder PORT    Redis: three masters, three replicas
#   servers.sh kafka3 up|down|address|kill NODE|revive NODE|pid NODE|folder NODE     Kafka: brokers 1, 2 and 3
#
# FLASHSALE_SERVERS=name is another set, apart from the one that tests share: for whoever breaks
# them. It ignores servers that the environment names.
#
# A server whose variable is set already is used as it is and never started or stopped.
# All checkouts of one user share the servers: tests keep apart by random names.
# Data is thrown away at each start, so a killed server or a half-made folder needs no repair.
# Anyone who can log in on this machine can reach them; they hold nothing but test data.
#
# Each server is one file, NAME.sh, with these parts: NAME_packages, NAME_port (ours),
# NAME_standard_port, NAME_signal, and the functions NAME_url, _binary, _mark, _start, _clean and _answers.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/flashsale
run=$cache/run${FLASHSALE_SERVERS:+-$FLASHSALE_SERVERS} # one folder per server: address, pid or docker, logs, data
all=(redis kafka postgres)
groups=(cluster kafka3)

declare -A variable=([redis]=REDIS_URL [kafka]=KAFKA_BROKERS [postgres]=DATABASE_URL)

# shellcheck source-path=SCRIPTDIR
{
	source "$here/process.sh"
	source "$here/probe.sh"
	source "$here/packages.sh"
	source "$here/redis.sh"
	source "$here/kafka.sh"
	source "$here/postgres.sh"
	source "$here/group.sh"
	source "$here/cluster.sh"
	source "$here/kafka3.sh"
}

say() { echo "servers: $*" >&2; }
die() {
	say "$*"
	exit 1
}

# address NAME: where `up` started it; fails if it did not.
address() { cat "$run/$1/address" 2>/dev/null; }

# given NAME: the user brought this server. Our own address, exported by `env`, does not count.
given() {
	local value=${!variable[$1]:-}
	[ -z "${FLASHSALE_SERVERS:-}" ] || return 1
	[ -n "$value" ] && [ "$value" != "$(address "$1")" ]
}

# alive NAME: what `up` started still runs. A container is judged by its answer alone.
alive() { [ -e "$run/$1/docker" ] || is_running "$1"; }

# ours NAME: `up` started it and it answers.
ours() {
	[ -e "$run/$1/address" ] || return 1
	# A busy machine answers late. A server that others use is not to be killed for that.
	local patience
	for patience in 1 2 4 8; do
		alive "$1" || return 1
		answers "$1" "$(address "$1")" "$patience" && return 0
		sleep 0.2
	done
	return 1
}

# start NAME: brings up one server and records its address.
start() {
	stop "$1"
	rm -rf "${run:?}/$1"
	mkdir -p "$run/$1"
	try_start "$1" >"$run/$1/start.log" 2>&1 || {
		say "$1 did not start: $(tail -n 1 "$run/$1/start.log") (see $run/$1)"
		stop "$1"
		return 1
	}
	say "$1 started on $(address "$1")"
}

try_start() {
	local own=$1_port port url
	port=$(free_port "${!own}") || return 1
	url=$("$1_url" "$port")
	if command_of "$1" >/dev/null; then
		"$1_start" "$port" "$run/$1" || return 1
	else
		docker_start "$1" "$port" "$run/$1" || return 1
	fi
	wait_until "$1" "$url" || return 1
	echo "$url" >"$run/$1/address"
}

stop() {
	if [ -e "$run/$1/docker" ]; then docker_stop "$1"; else stop_process "$1"; fi
	rm -f "$run/$1/address" "$run/$1/docker"
	"$1_clean"
}

# side_by_side FUNCTION NAME…: calls it for all names at once; fails if one fails.
side_by_side() {
	local function=$1 name pid pids=() failed=0
	shift
	for name in "$@"; do
		"$function" "$name" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
	return "$failed"
}

# known NAME: one of ours, or the end.
known() {
	[[ " ${all[*]} " == *" ${1:-} "* ]] || die "no server ${1:-}: one of ${all[*]}"
}

up() {
	local name wanted=()
	[ $# -gt 0 ] || set -- "${all[@]}"
	for name in "$@"; do
		known "$name"
		if given "$name"; then
			answers "$name" "${!variable[$name]}" 5 ||
				die "${variable[$name]} is set, but no $name answers at $(hide_password "${!variable[$name]}")"
		elif ! ours "$name"; then
			wanted+=("$name")
		fi
	done
	[ ${#wanted[@]} -gt 0 ] || return 0
	install_missing "${wanted[@]}"
	side_by_side start "${wanted[@]}"
}

down() { side_by_side stop "${all[@]}" && side_by_side group_down "${groups[@]}"; }

print_env() {
	local name value
	for name in "${all[@]}"; do
		value=$(address "$name") || value=
		if given "$name"; then value=${!variable[$name]}; fi
		[ -n "$value" ] || die "$name is not up: run $0 up"
		printf 'export %s=%q\n' "${variable[$name]}" "$value"
	done
}

status() {
	local name
	for name in "${all[@]}"; do
		if given "$name"; then
			printf '%-9s given by %s: %s\n' "$name" "${variable[$name]}" "$(hide_password "${!variable[$name]}")"
		elif ours "$name"; then
			printf '%-9s up at %s\n' "$name" "$(address "$name")"
		else
			printf '%-9s down\n' "$name"
		fi
	done
}

# Starting and stopping is done by one at a time, whatever checkout it comes from.
locked() {
	local lock=$cache/lock${FLASHSALE_SERVERS:+-$FLASHSALE_SERVERS}
	mkdir -p "$run"
	exec 9>"$lock"
	flock -w 900 9 || die "another servers.sh has held $lock for 15 minutes"
	"$@"
}

revive() {
	local port
	port=$(address "$1") || die "$1 is not up"
	port=${port##*:}
	! is_running "$1" || return 0
	"$1_again" "${port%%/*}" && wait_until "$1" "$(address "$1")"
}

case ${1:-} in
up) locked "$@" ;;
down) locked down ;;
env) print_env ;;
status) status ;;
kill | revive | pid | address)
	known "${2:-}"
	case $1 in
	address) address "$2" || die "$2 is not up" ;;
	kill) kill_process "$2" ;;
	revive) locked revive "$2" ;;
	pid) cat "$run/$2/pid" ;;
	esac
	;;
cluster | kafka3) group "$@" ;;
*)
	echo "usage: $0 up|down|env|status|kill|revive|pid|address|cluster|kafka3" >&2
	exit 2
	;;
esac
