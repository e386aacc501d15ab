# shellcheck shell=bash disable=SC2034,SC2154 # its variables are shared with servers.sh
# Sourced by servers.sh: a Redis Cluster of three masters and three replicas. A node is its port.
# A dead master is noticed after two seconds; its replica takes over however far it lags behind.

cluster_package=redis
cluster_signal=TERM
cluster_port=17001 # and the next five; each has its bus 10,000 above
cluster_mark() { echo "--dir $run/$1"; }
cluster_base() { cat "$run/cluster/base" 2>/dev/null; }
cluster_nodes() {
	local base
	base=$(cluster_base) || base=$cluster_port
	seq "$base" $((base + 5))
}
cluster_address() {
	local base
	base=$(cluster_base) || die "cluster is not up"
	echo "redis://127.0.0.1:$base/?cluster=true&addr=127.0.0.1:$((base + 1))&addr=127.0.0.1:$((base + 2))"
}

cluster_make() {
	local base port free
	for base in $(seq $cluster_port 10 $((cluster_port + 200))); do
		free=1
		for port in $(seq "$base" $((base + 5))); do
			if taken "$port" || taken $((port + 10000)); then free=0; fi
		done
		[ $free = 0 ] || break
	done
	echo "$base" >"$run/cluster/base"
}

# The log on disk is what a node that was killed comes back with.
cluster_launch() {
	mkdir -p "$run/cluster/$1"
	launch "cluster/$1" redis-server --port "$1" --bind 127.0.0.1 --dir "$run/cluster/$1" --set-proc-title no \
		--cluster-enabled yes --cluster-config-file nodes.conf --cluster-node-timeout 2000 \
		--cluster-replica-validity-factor 0 --cluster-require-full-coverage no \
		--save '' --appendonly yes --appendfsync everysec --repl-diskless-sync-delay 0 --maxmemory-policy noeviction
}

cluster_ready() {
	for _ in $(seq 200); do
		redis_answers 127.0.0.1 "$1" 1 redis && return 0
		is_running "cluster/$1" || return 1
		sleep 0.1
	done
	return 1
}

cluster_join() {
	local node nodes=() first
	for node in $(cluster_nodes); do nodes+=("127.0.0.1:$node"); done
	redis-cli --cluster create "${nodes[@]}" --cluster-replicas 1 --cluster-yes || return 1
	first=$(cluster_base)
	for node in $(cluster_nodes); do
		for _ in $(seq 300); do
			redis-cli -p "$node" cluster info | grep -q 'cluster_state:ok' &&
				redis-cli -p "$node" info replication | grep -Eq 'master_link_status:up|connected_slaves:1' && break
			sleep 0.1
		done
	done
	redis-cli -p "$first" cluster info | grep -q 'cluster_slots_ok:16384'
}
