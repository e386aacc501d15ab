# shellcheck shell=bash disable=SC2034,SC2154 # its variables are shared with servers.sh
# Sourced by servers.sh: one Redis. Nothing is written to disk, and nothing is evicted:
# a sale's keys must never disappear because memory ran short.

redis_packages=(redis-server)
redis_port=16379
redis_standard_port=6379
redis_signal=TERM
redis_url() { echo "redis://127.0.0.1:$1/0"; }
redis_binary() { command -v redis-server; }
redis_mark() { echo "--dir $run/redis"; }
redis_clean() { :; }

redis_start() {
	launch redis redis-server --port "$1" --bind 127.0.0.1 --dir "$2" --set-proc-title no \
		--save '' --appendonly no --maxmemory-policy noeviction
}

# redis_again PORT: it kept nothing, so it comes back empty.
redis_again() { redis_start "$1" "$run/redis"; }

# +PONG, or -NOAUTH where a password is needed. TLS cannot be spoken here: there an open port must do.
redis_answers() {
	if [[ $4 == rediss://* ]]; then
		# shellcheck disable=SC2016 # expanded by the inner shell
		timeout "$3" bash -c 'exec 3<>"/dev/tcp/$1/$2"' _ "$1" "$2" 2>/dev/null
		return
	fi
	[[ $(exchange "$1" "$2" "$3" 'PING\r\n' 5) =~ ^(2b504f4e47|2d4e4f4155)$ ]]
}
