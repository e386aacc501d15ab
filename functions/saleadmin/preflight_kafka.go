package saleadmin

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"flashsale/shared/config"
)

// What MSK takes of clients that log in by IAM, per broker.
const (
	mskConnections    = 3_000
	mskNewASecond     = 100
	mskNewASecondOfT3 = 4 // kafka.t3.small, which dev has
)

// brokerConnections are what an environment of purchase opens to each broker: the
// client's first, one for questions and one for records. A test of orderlog counts them.
const brokerConnections = 3

// lookAtKafka asks whether an acknowledged record survives a broker, and whether
// the brokers can take the environments.
func (h *Handler) lookAtKafka(ctx context.Context, d demand) []check {
	cfg := h.Estate.Config.Kafka
	var checks []check
	for _, topic := range []string{cfg.OrdersTopic, cfg.DeadLetterTopic, cfg.EventsTopic} {
		if topic != "" { // the development server may do without events
			checks = append(checks, h.lookAtTopic(ctx, topic))
		}
	}
	const each, fresh = "kafka connections per broker", "kafka connections in time"
	rate := mskNewASecond
	if strings.HasPrefix(h.Estate.Config.KafkaInstance, "kafka.t3.") {
		rate = mskNewASecondOfT3
	}
	connections := d.environments * brokerConnections
	needEach, seconds := strconv.Itoa(connections+others), connections/rate
	needFresh := fmt.Sprintf("%d s before the opening, at %d new ones a second", seconds, rate)
	if cfg.Auth != config.IAM {
		const why = "KAFKA_AUTH is not iam: only MSK's limits for that are known, and brokers do not tell theirs"
		return append(checks, unknown(each, needEach, why), unknown(fresh, needFresh, why))
	}
	ahead := h.connectTime(d)
	return append(checks,
		judge(each, mskConnections >= connections+others, strconv.Itoa(mskConnections), needEach,
			"MSK's own limit by IAM, which listener.name.client_iam.max.connections in the cluster's configuration may raise; or lower the peak by the sale's spread, or run purchase on instances, whose environments share connections"),
		judge(fresh, ahead >= time.Duration(seconds)*time.Second, fmt.Sprintf("%s before it", ahead), needFresh,
			"keep the environments warm that long before the opening: WarmEnvironments and WarmBefore of the stack; brokers of kafka.t3 take few, larger ones 100"))
}

// connectTime is how long before the opening the environments of purchase log in.
// Instances are there all the time, warm environments from WARM_BEFORE on; all
// others come with the shoppers.
func (h *Handler) connectTime(d demand) time.Duration {
	left, warm := d.sale.OpensAt.Sub(h.Now()).Truncate(time.Second), h.Estate.Config.Warm
	switch {
	case d.instances:
		return left
	case warm.Target == "":
		return min(left, 0)
	}
	return min(left, warm.Before)
}

func (h *Handler) lookAtTopic(ctx context.Context, topic string) check {
	name := "topic " + topic
	const need = "3 replicas or more, all in sync, min.insync.replicas 2 or more and fewer than the replicas"
	admin := kadm.NewClient(h.Kafka)
	topics, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return unknown(name, need, err.Error())
	}
	if err := topics[topic].Err; err != nil {
		return judge(name, false, err.Error(), need, "create it; purchases fail without it")
	}
	configs, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return unknown(name, need, err.Error())
	}
	described, err := configs.On(topic, nil)
	if err == nil {
		err = described.Err
	}
	if err != nil {
		return unknown(name, need, err.Error())
	}
	atLeast := 0
	for _, c := range described.Configs {
		if c.Key == "min.insync.replicas" {
			atLeast, _ = strconv.Atoi(c.MaybeValue()) // 0 says it well enough
		}
	}
	partitions := topics[topic].Partitions
	replicas, lagging := partitions.NumReplicas(), 0
	for _, p := range partitions {
		if len(p.ISR) < len(p.Replicas) {
			lagging++
		}
	}
	have := fmt.Sprintf("%d partitions, %d replicas, %d partitions not in sync, min.insync.replicas %d", len(partitions), replicas, lagging, atLeast)
	return judge(name, replicas >= 3 && lagging == 0 && atLeast >= 2 && atLeast < replicas, have, need,
		"a topic's replicas are set when it is made, or by kafka-reassign-partitions; the rest by kafka-configs")
}
