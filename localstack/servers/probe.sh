# shellcheck shell=bash disable=SC2034,SC2154 # its variables are shared with servers.sh
# Sourced by servers.sh: does a server of this kind answer? No client program is needed.

# exchange HOST PORT SECONDS REQUEST BYTES: sends printf's REQUEST, prints the answer as hex.
exchange() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	timeout "$3" bash -c '
		exec 3<>"/dev/tcp/$1/$2" || exit 1
		printf "$3" >&3
		head -c "$4" <&3 | od -An -v -tx1 | tr -d " \n"
	' _ "$1" "$2" "$4" "$5" 2>/dev/null
}

# hosts URL-OR-LIST DEFAULT_PORT: one "host port" per line.
hosts() {
	local rest=${1#*://}
	rest=${rest%%[/?]*}
	rest=${rest##*@}
	local entry port
	for entry in ${rest//,/ }; do
		port=$2
		if [[ $entry =~ ^(.*):([0-9]+)$ ]]; then
			entry=${BASH_REMATCH[1]} port=${BASH_REMATCH[2]}
		fi
		entry=${entry#[}
		echo "${entry%]} $port"
	done
}

hide_password() { sed -E 's#(://[^:/@]*):[^@]*@#\1:***@#' <<<"$1"; }

# answers NAME ADDRESS SECONDS: true if one of its hosts speaks the protocol.
answers() {
	local host port standard=$1_standard_port
	while read -r host port; do
		"$1_answers" "$host" "$port" "$3" "$2" && return 0
	done < <(hosts "$2" "${!standard}")
	return 1
}
