# shellcheck shell=bash disable=SC2034,SC2154 # its variables are shared with servers.sh
# Sourced by servers.sh: where the programs come from: the machine, apt, or Docker.

# command_of NAME: the program that runs it, if this machine has one.
command_of() { "${1}_binary" 2>/dev/null; }

# install_missing NAME…: one apt call for all that is missing. Without apt a Docker daemon must do.
install_missing() {
	local name packages=() missing=()
	for name in "$@"; do
		command_of "$name" >/dev/null && continue
		local -n list=${name}_packages
		packages+=("${list[@]}")
		missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if command -v apt-get >/dev/null; then
		"$here/apt.sh" "${packages[@]}" || die "apt could not install ${packages[*]}"
		for name in "${missing[@]}"; do
			command_of "$name" >/dev/null || die "$name: still no usable program after installing ${packages[*]}"
		done
	else
		docker info >/dev/null 2>&1 ||
			die "${missing[*]}: not here, no apt to install ${packages[*]}, no Docker daemon answers, and ${variable[${missing[0]}]} is not set"
	fi
}

# docker_start NAME PORT FOLDER: compose.yaml takes the port from the environment.
docker_start() {
	touch "$3/docker"
	env "${1^^}_PORT=$2" docker compose -p flashsale -f "$here/compose.yaml" up -d "$1"
}

docker_stop() { docker compose -p flashsale -f "$here/compose.yaml" rm -fsv "$1" >/dev/null 2>&1 || true; }
