package forecast

import (
	"fmt"
	"math"
	"time"
)

// growthTime is the time in which Lambda grants a function Growth environments.
const growthTime = 10 * time.Second

// Limits are what each part takes, a second where it is a flow.
type Limits struct {
	Edge                      float64
	GatewayRate, GatewayBurst float64
	Others                    float64 // polls, by the template's throttle
	Concurrency               float64 // environments of all functions
	Growth                    float64 // environments of one function in 10 s
	Instances                 float64 // environments of purchase on Managed Instances, before the opening
	Redis                     float64 // calls of a node, in holds
	Logins                    float64 // new connections to a broker
	Writer                    float64 // orders
}

// Unlimited lets everything pass, to see how much that is.
func Unlimited() Limits {
	all := math.Inf(1)
	return Limits{all, all, all, all, all, all, 0, all, all, all}
}

// Defaults are a new account's quotas with the least that the template buys, but for
// what is had already.
func Defaults(q Question, m Measured) Limits {
	l := Limits{
		Edge: 250_000, GatewayRate: 10_000, GatewayBurst: 5_000, Others: otherRate,
		Concurrency: 1_000, Growth: 1_000, Redis: m.Reserve, Logins: 100, Writer: m.Writer,
	}
	if q.Instances {
		l.Instances = instances * cores / environmentCores
	}
	q.Have.in(&l)
	return l
}

// environmentRate is how many purchase calls a second one environment takes. On
// instances the processor bounds it: its share of the cores, half busy, every
// call with token and Redis.
func environmentRate(q Question, m Measured) float64 {
	if q.Instances {
		return m.Full * environmentCores * busy
	}
	return perEnvironment
}

// A Need is how much of one thing the sale wants, beside what there is without asking.
type Need struct {
	Name   string  `json:"name"`
	Need   float64 `json:"need"`
	Have   float64 `json:"have"`
	Times  float64 `json:"times"` // need / have; over 1 something must be done
	Unit   string  `json:"unit"`
	How    string  `json:"how"`    // to get more
	Source string  `json:"source"` // of what there is
}

// Names of needs.
const (
	Edge            = "CloudFront"
	GatewayRate     = "API Gateway, rate"
	GatewayBurst    = "API Gateway, burst"
	OtherCalls      = "API Gateway, other calls"
	Passes          = "admission passes"
	Concurrency     = "Lambda, concurrency"
	Growth          = "Lambda, growth"
	Environments    = "Managed Instances"
	RedisCalls      = "Redis, a node's calls"
	RedisSockets    = "Redis, connections"
	KafkaSockets    = "Kafka, connections"
	KafkaNewSockets = "Kafka, new connections"
	Pollers         = "Kafka, pollers"
	Writer          = "order writer"
	PostgresSockets = "PostgreSQL, connections"
)

// order is that of a request's way.
var order = []string{
	Edge, GatewayRate, GatewayBurst, OtherCalls, Passes, Concurrency, Growth, Environments,
	RedisCalls, RedisSockets, KafkaSockets, KafkaNewSockets, Pollers, Writer, PostgresSockets,
}

// What the template deploys.
const (
	brokers       = 3
	otherRate     = 2_000            // OtherRate: calls a second of all methods but purchase
	admissionRate = 2_000            // of admission
	warmUp        = 15 * time.Minute // WarmBefore: what is warm connects within it
	recordBytes   = 400              // of an order in Kafka
	pollerBytes   = 5e6              // a second
	mostPollers   = 8                // MaximumPollers
	partitions    = 6                // of the orders topic, each with one call of the writer at a time
	scheduled     = 6                // environments of expirer, stockkeeper and saleadmin
	roleSockets   = 300              // DatabaseConnections
	databaseBytes = 8 << 30          // memory of db.m7g.large
	headroom      = 2                // a Redis node that does all it can answers late
	redisShards   = 2                // RedisShards

	instances        = 3   // Managed Instances at least, one in each zone
	cores            = 4   // of an instance
	environmentCores = 2   // 4 GB at 2 GB a core
	busy             = 0.5 // of a core that is planned for
)

// Needs derives from an unlimited run what must be there, in the order of a request's way.
func Needs(q Question, m Measured, o Outcome) []Need {
	p := o.Peak
	all := p.Environments + p.Others
	logins, loginAdvice := logins(q, p)
	concurrency, growth := all, Need{Name: Growth, Need: max(0, p.Environments-q.Warm), Have: 1_000, Unit: "environments in 10 s", How: "provisioned concurrency before the opening", Source: "Lambda scaling behavior"}
	if q.Instances {
		concurrency = p.Others
		growth = Need{Name: Environments, Need: p.Environments, Have: Defaults(q, m).Instances, Unit: "environments of two cores", How: "more at least, an hour before: they do not grow within seconds", Source: "Managed Instances scaling: three at first"}
	}
	pollers := max(2, math.Ceil(p.Wins*recordBytes/pollerBytes))
	have := Defaults(q, m)
	needs := []Need{
		{Name: Edge, Need: p.Edge, Have: have.Edge, Unit: "requests/s", How: "ask for the quota: requests per second per distribution", Source: "CloudFront quotas"},
		{Name: GatewayRate, Need: p.Calls, Have: have.GatewayRate, Unit: "calls/s", How: "ask for the quota L-8A5B8E43, then PurchaseRate", Source: "API Gateway quotas; 2,500 in young regions"},
		{Name: GatewayBurst, Need: o.excess(max(p.Calls, have.GatewayRate)), Have: have.GatewayBurst, Unit: "calls", How: "AWS sets it by the rate; then PurchaseBurst", Source: "API Gateway quotas; 1,250 in young regions"},
		{Name: OtherCalls, Need: p.Polls, Have: have.Others, Unit: "calls/s", How: "OtherRate, OtherBurst", Source: "template.yaml"},
	}
	if q.Spread > 0 {
		needs = append(needs, Need{Name: Passes, Need: q.Shoppers / passTime.Seconds(), Have: admissionRate, Unit: "calls/s", How: "AdmissionRate, at most the account's rate", Source: "template.yaml"})
	}
	needs = append(needs, []Need{
		{Name: Concurrency, Need: concurrency, Have: have.Concurrency, Unit: "environments", How: "ask for the quota L-B99A9384, or Managed Instances", Source: "Lambda quotas"},
		growth,
		{Name: RedisCalls, Need: p.Redis * headroom, Have: have.Redis, Unit: "calls/s of a node", How: redisAdvice(m, p), Source: "make bench, reserve"},
		{Name: RedisSockets, Need: all, Have: 65_000, Unit: "connections to a node", How: "fewer environments: lottery or Managed Instances", Source: "ElastiCache, maxclients"},
		{Name: KafkaSockets, Need: p.Environments * brokerConnections, Have: 3_000, Unit: "connections to a broker", How: "listener.name.client_iam.max.connections, or fewer environments", Source: "MSK quotas, IAM"},
		{Name: KafkaNewSockets, Need: logins, Have: have.Logins, Unit: "a second and broker", How: loginAdvice, Source: "MSK quotas, IAM"},
		{Name: Pollers, Need: pollers, Have: mostPollers, Unit: "pollers", How: "MaximumPollers", Source: "template.yaml; Kafka scaling modes, 5 MB/s each"},
		{Name: Writer, Need: p.Wins, Have: have.Writer, Unit: "orders/s", How: "a larger database", Source: "make bench, writer"},
		{Name: PostgresSockets, Need: p.Others + partitions + scheduled, Have: min(roleSockets, maxConnections(databaseBytes)), Unit: "connections", How: fmt.Sprintf("DatabaseConnections, with a DatabaseClass that has them (the default has %.0f); or OrderStatusEnvironments, which bounds the need", math.Floor(maxConnections(databaseBytes))), Source: "template.yaml; RDS: memory / 9,531,392, at most 5,000"},
	}...)
	for i := range needs {
		needs[i].Need = whole(needs[i].Need)
		if n, ok := q.Have[needs[i].Name]; ok {
			needs[i].Have = n
		}
		needs[i].Have = math.Floor(needs[i].Have)
		needs[i].Times = needs[i].Need / needs[i].Have
	}
	return needs
}

// logins are the new connections to a broker in the worst second. What is warm opens
// its own before the opening, what is cold within the second that needs it.
func logins(q Question, p Peak) (worst float64, how string) {
	warm := p.Environments
	if !q.Instances {
		warm = min(warm, q.Warm)
	}
	before := warm * brokerConnections / warmUp.Seconds()
	if q.Instances || before > p.Logins {
		return before, "WarmBefore, or fewer environments"
	}
	return p.Logins, "WarmEnvironments, which log in before the opening; or fewer environments"
}

// redisAdvice says whether shards help: they share holds and polls, not looks.
func redisAdvice(m Measured, p Peak) string {
	if n := shardsFor(m, p); n > 0 {
		return fmt.Sprintf("shards of the sale, %.0f, and as many RedisShards", n)
	}
	return "fewer environments (lottery, Managed Instances): each looks at every node, however many shards there are"
}

// shardsFor is how many shards keep a node at half of what it was measured to do, 0 if none do.
func shardsFor(m Measured, p Peak) float64 {
	left := m.Reserve/headroom - p.RedisEach
	if left*mostShards < p.RedisShared {
		return 0
	}
	return max(1, whole(p.RedisShared/left))
}

// whole rounds up, but not for what a sum of fractions has lost.
func whole(n float64) float64 { return math.Ceil(n - 1e-6) }

// maxConnections is RDS' default for PostgreSQL.
func maxConnections(bytes float64) float64 { return min(5000, bytes/9_531_392) }

// excess is how far the calls run ahead of a rate at most: the bucket that is needed.
func (o Outcome) excess(rate float64) (most float64) {
	ahead := 0.0
	for _, n := range o.calls {
		ahead = max(0, ahead+n-rate*step.Seconds())
		most = max(most, ahead)
	}
	return most
}

// Bottleneck names the need that is furthest above what there is, empty if nothing is.
func Bottleneck(needs []Need) string {
	name, worst := "", 1.0
	for _, n := range needs {
		if n.Times > worst {
			name, worst = n.Name, n.Times
		}
	}
	return name
}

// find returns the need of that name.
func find(needs []Need, name string) Need {
	for _, n := range needs {
		if n.Name == name {
			return n
		}
	}
	return Need{}
}
