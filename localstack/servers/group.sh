# shellcheck shell=bash disable=SC2154 # its variables are shared with servers.sh
# Sourced by servers.sh: several processes that are one server. They start only on demand.
#
# A group is one file, NAME.sh, with these parts: NAME_package, NAME_signal, and the functions NAME_mark,
# NAME_nodes, NAME_make, NAME_launch NODE, NAME_ready NODE, NAME_join and NAME_address. Node files lie in $run/NAME/NODE.

group() {
	local name=$1 verb=${2:-}
	case $verb in
	up | down) locked "group_$verb" "$name" ;;
	address) "${name}_address" ;;
	kill | revive | pid | folder)
		[ -d "$run/$name/${3:?which node?}" ] || die "$name has no node $3"
		case $verb in
		kill) kill_process "$name/$3" ;;
		revive) locked group_revive "$name" "$3" ;;
		pid) cat "$run/$name/$3/pid" ;;
		folder) echo "$run/$name/$3" ;;
		esac
		;;
	*)
		echo "usage: $0 $name up|down|address|kill NODE|revive NODE|pid NODE|folder NODE" >&2
		exit 2
		;;
	esac
}

# group_up NAME: whole or not at all. A group with a node missing is made anew.
group_up() {
	local node missing=0
	for node in $("$1_nodes"); do is_running "$1/$node" || missing=1; done
	[ "$missing" = 1 ] || [ ! -d "$run/$1" ] || [ ! -e "$run/$1/up" ] || return 0
	group_down "$1"
	mkdir -p "$run/$1"
	local package=$1_package
	install_missing "${!package}"
	"$1_make" >"$run/$1/start.log" 2>&1 || die "$1 did not start: $(tail -n 1 "$run/$1/start.log")"
	for node in $("$1_nodes"); do "$1_launch" "$node" >>"$run/$1/start.log" 2>&1; done
	for node in $("$1_nodes"); do "$1_ready" "$node" || die "$1 node $node did not start: see $run/$1/$node/log"; done
	"$1_join" >>"$run/$1/start.log" 2>&1 || die "$1 did not come together: $(tail -n 1 "$run/$1/start.log")"
	touch "$run/$1/up"
	say "$1 started"
}

group_down() {
	local node pids=()
	[ -d "$run/$1" ] || return 0
	for node in $("$1_nodes"); do
		stop_process "$1/$node" &
		pids+=($!)
	done
	wait "${pids[@]}"
	rm -rf "${run:?}/$1"
}

group_revive() {
	! is_running "$1/$2" || return 0
	"$1_launch" "$2" && "$1_ready" "$2"
}
