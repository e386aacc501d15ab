# shellcheck shell=bash disable=SC2034,SC2154 # its variables are shared with servers.sh
# Sourced by servers.sh: one PostgreSQL, 15 or later. It refuses to run as root, so root starts it
# as `postgres`, who cannot read root's home: its data lies under /var/tmp. It never waits for the
# disk; a crash may lose the data, which is made anew at each start anyway.

postgres_packages=(postgresql)
postgres_data=/var/tmp/flashsale-$(id -u)-$(cksum <<<"$cache${FLASHSALE_SERVERS:-}" | cut -d" " -f1)
postgres_port=15432
postgres_standard_port=5432
postgres_signal=INT # its fast shutdown; TERM would wait for the last client
postgres_crash=QUIT # its crash: SIGKILL would leave its children behind
postgres_url() { echo "postgres://postgres@127.0.0.1:$1/postgres?sslmode=disable"; }
postgres_mark() { echo "$postgres_data/data"; }
postgres_clean() { rm -rf "${postgres_data:?}"; }

postgres_binary() {
	local dir
	for dir in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV) "$(dirname "$(command -v initdb)")"; do
		[ -x "$dir/initdb" ] || continue
		[ "$("$dir/initdb" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')" -ge 15 ] || continue
		echo "$dir/postgres"
		return 0
	done
	return 1
}

postgres_user() { id -un postgres 2>/dev/null || echo nobody; }

# as_owner: the words before a command that make root run it as the folder's owner, one per line.
# They end in exec, which keeps the pid that `launch` has noted.
as_owner() {
	[ "$(id -u)" = 0 ] || return 0
	printf '%s\n' setpriv "--reuid=$(postgres_user)" "--regid=$(id -g "$(postgres_user)")" --clear-groups \
		env -C / HOME=/tmp
}

postgres_start() {
	local bin owner
	bin=$(dirname "$(postgres_binary)")
	mapfile -t owner < <(as_owner)
	mkdir -m 700 "$postgres_data" || return 1
	[ "$(id -u)" != 0 ] || chown "$(postgres_user)" "$postgres_data"
	"${owner[@]}" "$bin/initdb" -D "$postgres_data/data" -U postgres -A trust -E UTF8 --no-locale --no-sync || return 1
	postgres_again "$1"
}

# postgres_again PORT: with the data that is there.
postgres_again() {
	local bin owner
	bin=$(dirname "$(postgres_binary)")
	mapfile -t owner < <(as_owner)
	launch postgres "${owner[@]}" "$bin/postgres" -D "$postgres_data/data" -p "$1" \
		-c listen_addresses=127.0.0.1 -c unix_socket_directories="$postgres_data" \
		-c max_connections=200 -c fsync=off -c synchronous_commit=off -c full_page_writes=off || return 1
	await_log postgres 'ready to accept connections'
}

# An SSLRequest is answered with one letter: S or N.
postgres_answers() {
	[[ $(exchange "$1" "$2" "$3" '\0\0\0\x08\x04\xd2\x16\x2f' 1) =~ ^(53|4e)$ ]]
}
