# shellcheck shell=bash disable=SC2034,SC2154 # its variables are shared with servers.sh
# Sourced by servers.sh: three Kafka brokers, each a controller too. Every topic has three replicas, and
# two of them must have a record before it is acknowledged. A node is 1, 2 or 3. Nodes find each other by
# names, broker-1 to broker-3, which each looks up in a file of its own: whoever writes that file can put
# something between any two of them. Clients find them by their addresses.

kafka3_package=kafka
kafka3_signal=TERM
kafka3_port=29092 # of the first; the others follow ten by ten, controllers one above, for brokers two above
kafka3_mark() { echo "$run/$1/server.properties"; }
kafka3_nodes() { echo 1 2 3; }
kafka3_address() {
	local base
	base=$(cat "$run/kafka3/base" 2>/dev/null) || die "kafka3 is not up"
	echo "127.0.0.1:$base,127.0.0.1:$((base + 10)),127.0.0.1:$((base + 20))"
}

kafka3_make() {
	local base node port id voters=
	kafka_fetch || return 1
	base=$(free_port $kafka3_port) || return 1
	echo "$base" >"$run/kafka3/base"
	id=$(head -c 16 /dev/urandom | base64 | tr '+/' 'Az' | tr -d '=')
	for node in 1 2 3; do voters+=${voters:+,}$node@broker-$node:$((base + node * 10 - 9)); done
	for node in 1 2 3; do
		mkdir -p "$run/kafka3/$node"
		port=$((base + node * 10 - 10))
		kafka_properties $port "$run/kafka3/$node" >"$run/kafka3/$node/server.properties"
		# The last word on a property counts.
		cat >>"$run/kafka3/$node/server.properties" <<-END
			node.id=$node
			controller.quorum.voters=$voters
			listeners=PLAINTEXT://127.0.0.1:$port,INTERNAL://127.0.0.1:$((port + 2)),CONTROLLER://127.0.0.1:$((port + 1))
			advertised.listeners=PLAINTEXT://127.0.0.1:$port,INTERNAL://broker-$node:$((port + 2))
			listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT
			inter.broker.listener.name=INTERNAL
			default.replication.factor=3
			min.insync.replicas=2
			offsets.topic.num.partitions=3
			offsets.topic.replication.factor=3
			broker.session.timeout.ms=6000
		END
		printf '127.0.0.1 %s\n' localhost "$(hostname)" broker-1 broker-2 broker-3 >"$run/kafka3/$node/hosts"
		kafka_java kafka.tools.StorageTool format -t "$id" -c "$run/kafka3/$node/server.properties" || return 1
	done
}

kafka3_launch() { kafka_launch "kafka3/$1"; }
kafka3_ready() { await_log "kafka3/$1" 'Kafka Server started'; }
kafka3_join() { :; }
