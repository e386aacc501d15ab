# shellcheck shell=bash disable=SC2034,SC2154 # its variables are shared with servers.sh
# Sourced by servers.sh: processes and ports.

# launch NAME COMMAND…: runs it apart from this terminal and without the lock; output to its log.
launch() {
	local name=$1
	shift
	setsid "$@" >"$run/$name/log" 2>&1 </dev/null 9>&- &
	echo $! >"$run/$name/pid"
	# Until its exec the child still looks like this script.
	for _ in $(seq 100); do
		is_running "$name" && return 0
		sleep 0.02
	done
	tail -n 1 "$run/$name/log"
	return 1
}

# await_log NAME TEXT: for servers that answer a little before they are ready.
await_log() {
	until grep -q "$2" "$run/$1/log"; do
		is_running "$1" || {
			tail -n 1 "$run/$1/log"
			return 1
		}
		sleep 0.1
	done
}

# is_running NAME: its process lives, and the pid was not handed to something else meanwhile.
# The node of a group is GROUP/NODE and shares the parts GROUP_mark and GROUP_signal.
is_running() {
	local pid
	pid=$(cat "$run/$1/pid" 2>/dev/null) || return 1
	[ -n "$pid" ] && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- "$("${1%%/*}_mark" "$1")"
}

# stop_process NAME: politely first, so that no child and no port stays behind.
stop_process() {
	local pid signal=${1%%/*}_signal
	is_running "$1" || return 0
	pid=$(cat "$run/$1/pid")
	kill "-${!signal}" "$pid" 2>/dev/null || return 0
	for _ in $(seq 100); do
		is_running "$1" || return 0
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
	while is_running "$1"; do sleep 0.1; done
}

# kill_process NAME: at once, as a power cut does.
kill_process() {
	local signal=${1%%/*}_crash
	! is_running "$1" || kill "-${!signal:-KILL}" "$(cat "$run/$1/pid")"
	while is_running "$1"; do sleep 0.02; done
}

# wait_until NAME ADDRESS: its own answer is the only sign that counts.
wait_until() {
	for _ in $(seq 600); do
		answers "$1" "$2" 2 && return 0
		alive "$1" || {
			tail -n 1 "$run/$1/log"
			return 1
		}
		sleep 0.1
	done
	echo "no answer in time"
	return 1
}

taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_port DEFAULT: the default, or the next pair of free ports (Kafka needs two).
free_port() {
	local port
	for port in $(seq "$1" 2 $(($1 + 200))); do
		taken "$port" || taken $((port + 1)) || {
			echo "$port"
			return 0
		}
	done
	echo "no free port from $1 to $(($1 + 200))" >&2
	return 1
}
