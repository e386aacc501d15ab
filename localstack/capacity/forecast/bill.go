package forecast

import (
	"math"
	"time"
)

// A Line is one position of a bill.
type Line struct {
	What string  `json:"what"`
	Cost float64 `json:"cost"`
}

// A Bill is what a sale adds, and what a month costs without any.
type Bill struct {
	Sale     []Line  `json:"sale"`
	SaleSum  float64 `json:"saleSum"`
	Month    []Line  `json:"month"`
	MonthSum float64 `json:"monthSum"`
}

// What is paid for besides calls; assumptions where no other file is named.
const (
	warmFor     = time.Hour     // provisioned environments and instances, around the opening
	redisFor    = 3 * time.Hour // nodes beyond RedisShards, around the opening
	pageFiles   = 12
	pageBytes   = 50e3
	viewBytes   = 1e3           // the public view with its headers, and any other small answer
	logged      = 400           // bytes of access log a call
	memory      = 1769.0 / 1024 // GB of purchase in template.yaml
	memoryOther = 0.5
	callTime    = 5 * time.Millisecond  // billed for a call that asks Redis or PostgreSQL
	winTime     = 20 * time.Millisecond // and for one that Kafka acknowledges
	stored      = 100.0                 // GB, of each broker and of the database
	month       = 730.0                 // hours
	perUnit     = 4                     // pollers in one event poller unit
	giga        = 1e9
	endpoints   = 5 // of the stack's own network, in each zone
	zones       = 3
)

// NewBill prices what the sale needs.
func NewBill(q Question, m Measured, p Prices, needs []Need, o Outcome) Bill {
	passes := 0.0
	if q.Spread > 0 {
		passes = q.Shoppers
	}
	calls := o.Calls + passes
	others := o.Polls + passes
	runs := memory * (o.Wins*winTime.Seconds() + (o.Served-o.Wins)*callTime.Seconds())
	// Instances are paid by the hour whatever runs on them.
	runs *= p.of("provisionedRun")
	warm := Line{"Lambda, provisioned", o.Peak.Environments * memory * warmFor.Seconds() * p.of("provisioned")}
	if q.Instances {
		runs = 0
		warm = Line{"Managed Instances", Instances(o) * warmFor.Hours() * p.of("instance")}
	}

	var b Bill
	b.Sale = []Line{
		{"CloudFront, requests", (o.Edge + passes + q.Shoppers*pageFiles) * p.of("edgeRequest")},
		{"CloudFront, bytes", (q.Shoppers*pageBytes + (o.Edge+passes)*viewBytes) / giga * p.of("edgeBytes")},
		{"CloudFront, function", (o.Presses + o.Early) * p.of("edgeFunction")},
		{"WAF", (o.Edge + passes) * p.of("firewallRequest")},
		{"API Gateway", calls * p.of("gatewayCall")},
		{"Lambda, calls", (o.Served+others)*p.of("lambdaRequest") +
			runs + others*callTime.Seconds()*memoryOther*p.of("lambdaSecond")},
		warm,
		{"Redis, more nodes", (Nodes(q, m, o) - redisShards) * 2 * redisFor.Hours() * p.of("redisNode")},
		{"logs", calls * logged / giga * p.of("logBytes")},
	}
	pollers := find(needs, Pollers).Need
	b.Month = []Line{
		{"Redis, two nodes and their replicas", redisShards * 2 * month * p.of("redisNode")},
		{"Kafka, three brokers", brokers * (month*p.of("broker") + stored*p.of("brokerStorage"))},
		{"PostgreSQL, two zones", month*p.of("database") + stored*p.of("databaseStorage")},
		{"event pollers", math.Ceil(pollers/perUnit) * month * p.of("poller")},
		{"WAF", p.of("firewallMonth")},
		{"the network's endpoints", endpoints * zones * month * p.of("endpoint")},
	}
	b.SaleSum, b.MonthSum = sum(b.Sale), sum(b.Month)
	return b
}

// Nodes is how many Redis primaries stand there: the stack's, or more where that helps.
func Nodes(q Question, m Measured, o Outcome) float64 {
	return max(redisShards, q.shards(), shardsFor(m, o.Peak))
}

// Instances is how many hold the environments of a way on Managed Instances.
func Instances(o Outcome) float64 {
	return max(instances, math.Ceil(o.Peak.Environments*environmentCores/cores))
}

func sum(lines []Line) (n float64) {
	for _, l := range lines {
		n += l.Cost
	}
	return n
}
