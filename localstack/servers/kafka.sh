# shellcheck shell=bash disable=SC2034,SC2154 # its variables are shared with servers.sh
# Sourced by servers.sh: one Kafka broker in KRaft mode, run from Maven's jars.
# Topics are never made by accident: a misspelt name is an error.

kafka_packages=(default-jre-headless maven)
kafka_heap=256m
kafka_port=19092 # and the next one for its controller
kafka_standard_port=9092
kafka_signal=TERM
kafka_url() { echo "127.0.0.1:$1"; }
kafka_mark() { echo "$run/kafka/server.properties"; }
kafka_clean() { :; }

# The version is the pom's, and part of the folder's name: a new one is fetched beside the old.
kafka_version() { sed -n 's/.*<version>\(.*\)<\/version>.*/\1/p' "$here/kafka/pom.xml" | sed -n 2p; }
kafka_jars() { echo "$cache/kafka-$(kafka_version)"; }

# java_binary: the first Java of version 17 or later.
java_binary() {
	local java
	for java in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java)" /usr/lib/jvm/*/bin/java; do
		[ -x "$java" ] || continue
		[ "$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p;q')" -ge 17 ] 2>/dev/null || continue
		echo "$java"
		return 0
	done
	return 1
}

# The jars are enough: Maven is only needed to fetch them.
kafka_binary() {
	java_binary || return 1
	[ -d "$(kafka_jars)" ] || command -v mvn
}

kafka_fetch() {
	local jars part
	jars=$(kafka_jars)
	[ ! -d "$jars" ] || return 0
	part=$(mktemp -d "$cache/kafka.XXXXXX")
	if ! mvn -q -B -Dstyle.color=never -f "$here/kafka/pom.xml" -Duser.home="$HOME" dependency:copy-dependencies \
		-DincludeScope=runtime -DoutputDirectory="$part" >"$part/log" 2>&1; then
		echo "Maven could not fetch the jars: $(grep -m 1 ERROR "$part/log")"
		rm -rf "$part"
		return 1
	fi
	mv "$part" "$jars"
}

kafka_java() {
	"$(java_binary)" -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$(kafka_jars)/*" "$@"
}

kafka_start() {
	local id
	kafka_fetch || return 1
	kafka_properties "$1" "$2" >"$2/server.properties"
	id=$(head -c 16 /dev/urandom | base64 | tr '+/' 'Az' | tr -d '=')
	kafka_java kafka.tools.StorageTool format -t "$id" -c "$2/server.properties" || return 1
	kafka_launch kafka || return 1
	await_log kafka 'Kafka Server started'
}

# kafka_launch NAME: the first compiler tier alone starts in half the time and is fast enough for tests.
# A node with a file of hosts looks up each name there, whenever it connects.
kafka_launch() {
	local names=()
	[ ! -e "$run/$1/hosts" ] || names=(-Djdk.net.hosts.file="$run/$1/hosts" -Dsun.net.inetaddr.ttl=0 -Dsun.net.inetaddr.negative.ttl=0)
	launch "$1" "$(java_binary)" -Xms$kafka_heap -Xmx$kafka_heap -XX:+UseSerialGC \
		-XX:TieredStopAtLevel=1 "${names[@]}" \
		-Dlog4j2.configurationFile="file:$here/kafka/log4j2.properties" \
		-cp "$(kafka_jars)/*" kafka.Kafka "$run/$1/server.properties"
}

# kafka_again PORT: with the data that is there.
kafka_again() {
	kafka_launch kafka || return 1
	await_log kafka 'Kafka Server started'
}

kafka_properties() {
	cat <<-END
		process.roles=broker,controller
		node.id=1
		controller.quorum.voters=1@127.0.0.1:$(($1 + 1))
		listeners=PLAINTEXT://127.0.0.1:$1,CONTROLLER://127.0.0.1:$(($1 + 1))
		advertised.listeners=PLAINTEXT://127.0.0.1:$1
		listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
		controller.listener.names=CONTROLLER
		inter.broker.listener.name=PLAINTEXT
		log.dirs=$2/data
		auto.create.topics.enable=false
		offsets.topic.num.partitions=1
		offsets.topic.replication.factor=1
		transaction.state.log.num.partitions=1
		transaction.state.log.replication.factor=1
		transaction.state.log.min.isr=1
		share.coordinator.state.topic.num.partitions=1
		share.coordinator.state.topic.replication.factor=1
		share.coordinator.state.topic.min.isr=1
		group.initial.rebalance.delay.ms=0
		num.network.threads=2
		num.io.threads=2
		log.cleaner.dedupe.buffer.size=8388608
		log.segment.bytes=67108864
	END
}

# ApiVersions v0, correlation id 1: the answer repeats the id behind its length.
kafka_answers() {
	[[ $(exchange "$1" "$2" "$3" '\0\0\0\x0a\0\x12\0\0\0\0\0\x01\xff\xff' 8) =~ ^.{8}00000001$ ]]
}
