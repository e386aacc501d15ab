package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Redis names the server or cluster that decides.
type Redis struct {
	// redis://user:password@host:port/db, rediss:// for TLS. With ?cluster=true,
	// or with further nodes as ?addr=host:port, it is a cluster.
	URL      Secret `env:"REDIS_URL,notEmpty"`
	PoolSize int    `env:"REDIS_POOL_SIZE" envDefault:"64"`  // connections at most, per node
	Pipeline bool   `env:"REDIS_PIPELINE" envDefault:"true"` // concurrent purchases share round trips
	Auth     string `env:"REDIS_AUTH"`                       // IAM, or "" for the password in the URL
	Cache    string `env:"REDIS_CACHE"`                      // for IAM: ElastiCache's name of the cluster, where its host does not have it
	AWS      AWS
}

// Check refuses a pool without connections, and a login that cannot be.
func (r *Redis) Check() error {
	fault := checkLogin("REDIS_AUTH", r.Auth, &r.AWS)
	if r.PoolSize < 1 {
		fault = errors.Join(errors.New("REDIS_POOL_SIZE is malformed: it must be 1 or more"), fault)
	}
	return fault
}

// Kafka names the brokers and the topics.
type Kafka struct {
	Brokers         []string `env:"KAFKA_BROKERS,notEmpty"` // host:port, separated by commas
	TLS             bool     `env:"KAFKA_TLS"`
	Auth            string   `env:"KAFKA_AUTH"` // IAM, or "" for none
	OrdersTopic     string   `env:"KAFKA_ORDERS_TOPIC" envDefault:"flash-sale-orders"`
	DeadLetterTopic string   `env:"KAFKA_DEAD_LETTER_TOPIC" envDefault:"flash-sale-orders-dlq"`
	EventsTopic     string   `env:"KAFKA_EVENTS_TOPIC" envDefault:"flash-sale-order-events"`
	Group           string   `env:"KAFKA_GROUP" envDefault:"flash-sale-orderwriter"` // the order writer's
	AWS             AWS
}

// Check refuses a list with a gap in it, and a token that would travel in the clear.
func (k *Kafka) Check() error {
	fault := checkLogin("KAFKA_AUTH", k.Auth, &k.AWS)
	if k.Auth == IAM && !k.TLS {
		fault = errors.Join(errors.New("KAFKA_AUTH is iam, which needs KAFKA_TLS"), fault)
	}
	if slices.Contains(k.Brokers, "") {
		fault = errors.Join(errors.New("KAFKA_BROKERS is malformed: a broker in the list is empty"), fault)
	}
	return fault
}

// The ways in which queries are sent.
const (
	CacheStatement = "cache_statement" // prepared once per connection: fastest
	Exec           = "exec"            // unnamed statements: RDS Proxy does not pin
	Simple         = "simple"          // simple protocol: for PgBouncer's oldest ways
)

// Postgres names the database.
type Postgres struct {
	URL      Secret `env:"DATABASE_URL,notEmpty"` // postgres://user:password@host:port/database?sslmode=verify-full
	ExecMode string `env:"DB_EXEC_MODE" envDefault:"cache_statement"`
	PoolSize int32  `env:"DB_POOL_SIZE" envDefault:"4"` // connections at most
	Auth     string `env:"DATABASE_AUTH"`               // IAM, or "" for the password in the URL
	AWS      AWS
}

// Check refuses unknown modes, a pool without connections, and a login that cannot be.
func (p *Postgres) Check() error {
	faults := []error{checkLogin("DATABASE_AUTH", p.Auth, &p.AWS)}
	if !slices.Contains([]string{CacheStatement, Exec, Simple}, p.ExecMode) {
		faults = append(faults, fmt.Errorf("DB_EXEC_MODE is malformed: %q is not one of %s, %s, %s",
			p.ExecMode, CacheStatement, Exec, Simple))
	}
	if p.PoolSize < 1 {
		faults = append(faults, errors.New("DB_POOL_SIZE is malformed: it must be 1 or more"))
	}
	return errors.Join(faults...)
}

// Identity says whose tokens are accepted.
type Identity struct {
	Issuer   string        `env:"JWT_ISSUER,notEmpty"`
	Audience string        `env:"JWT_AUDIENCE,notEmpty"`
	JWKSURL  string        `env:"JWKS_URL"` // where the keys are; or
	JWKS     string        `env:"JWKS"`     // the keys themselves, JSON
	Cooldown time.Duration `env:"JWKS_COOLDOWN" envDefault:"30s"`
	Skew     time.Duration `env:"JWT_SKEW" envDefault:"60s"` // how far clocks may differ
}

// Check wants exactly one source of keys.
func (i *Identity) Check() error {
	var faults []error
	if i.JWKSURL == "" && i.JWKS == "" {
		faults = append(faults, errors.New("JWKS_URL is missing, and so is JWKS: one is needed"))
	}
	if i.JWKSURL != "" && i.JWKS != "" {
		faults = append(faults, errors.New("JWKS_URL and JWKS are both set: one is needed"))
	}
	if i.Cooldown < time.Second {
		faults = append(faults, errors.New("JWKS_COOLDOWN is malformed: it must be 1s or more"))
	}
	if i.Skew < 0 {
		faults = append(faults, errors.New("JWT_SKEW is malformed: it must be 0s or more"))
	}
	return errors.Join(faults...)
}

// OrderIDs holds the secret of the order ids' owner check, the same for all functions.
type OrderIDs struct {
	Secret Secret `env:"ORDER_ID_SECRET,notEmpty"` // 16 bytes or more
}

// Check refuses a short secret here, so that it is reported with all other faults.
func (o *OrderIDs) Check() error {
	if len(o.Secret) < 16 {
		return errors.New("ORDER_ID_SECRET is malformed: 16 bytes or more are needed")
	}
	return nil
}

// AdmissionKeys are what admission passes are signed and checked with. Without
// any, no sale may have a spread.
type AdmissionKeys struct {
	PassKeys []Secret `env:"ADMISSION_KEYS"` // id:secret, separated by commas: the first signs, all verify
}

// A PassKey is one key under its name.
type PassKey struct {
	ID     string
	Secret []byte
}

// passKey is what a key may look like: its id is a part of every pass.
var passKey = regexp.MustCompile(`^([A-Za-z0-9_-]{1,32}):(.{16,})$`)

// Check refuses keys that are none.
func (a *AdmissionKeys) Check() error {
	if _, err := a.Keys(); err != nil {
		return fmt.Errorf("ADMISSION_KEYS is malformed: %w", err)
	}
	return nil
}

// Keys takes the keys apart.
func (a *AdmissionKeys) Keys() ([]PassKey, error) {
	var keys []PassKey
	for i, text := range a.PassKeys {
		parts := passKey.FindStringSubmatch(text.Reveal())
		if parts == nil { // the error must not quote it
			return nil, fmt.Errorf("key %d is not id:secret with an id of 1 to 32 letters, digits, _ or - and a secret of 16 bytes or more", i+1)
		}
		if slices.ContainsFunc(keys, func(k PassKey) bool { return k.ID == parts[1] }) {
			return nil, fmt.Errorf("key %d has the id of another", i+1)
		}
		keys = append(keys, PassKey{parts[1], []byte(parts[2])})
	}
	return keys, nil
}

// Admission is for whoever gives passes out: it also draws the lots.
type Admission struct {
	AdmissionKeys
	Lottery Secret `env:"ADMISSION_LOTTERY"` // 16 bytes or more, never changed during a sale
}

// Check refuses half of it, which could not give out a pass.
func (a *Admission) Check() error {
	switch {
	case len(a.PassKeys) == 0 && a.Lottery == "":
		return nil
	case len(a.PassKeys) == 0:
		return errors.New("ADMISSION_KEYS is missing, but ADMISSION_LOTTERY is set")
	case a.Lottery == "":
		return errors.New("ADMISSION_LOTTERY is missing, but ADMISSION_KEYS is set")
	case len(a.Lottery) < 16:
		return errors.New("ADMISSION_LOTTERY is malformed: 16 bytes or more are needed")
	}
	return nil
}

// Limits say how often one shopper may call.
type Limits struct {
	Purchases Rate `env:"PURCHASE_LIMIT" envDefault:"20/10s"`
}

// A Rate is so many calls within a time, such as 20/10s.
type Rate struct {
	Calls  int
	Window time.Duration
}

// UnmarshalText reads a rate of 1 to 100 calls in 1s to 1h. Each call of each
// shopper is remembered for the time, so the number has an end.
func (r *Rate) UnmarshalText(text []byte) error {
	calls, window, _ := strings.Cut(string(text), "/")
	n, err1 := strconv.Atoi(calls)
	d, err2 := time.ParseDuration(window)
	if err1 != nil || err2 != nil || n < 1 || n > 100 || d < time.Second || d > time.Hour {
		return fmt.Errorf("%q is not 1 to 100 calls in 1s to 1h, such as 20/10s", text)
	}
	*r = Rate{n, d}
	return nil
}

// HTTP says which pages may call.
type HTTP struct {
	AllowedOrigins []string `env:"ALLOWED_ORIGINS"` // such as https://shop.example, separated by commas
}

// Log says how much is logged, and by whom.
type Log struct {
	Level    slog.Level `env:"LOG_LEVEL" envDefault:"INFO"`                 // DEBUG, INFO, WARN or ERROR
	Function string     `env:"AWS_LAMBDA_FUNCTION_NAME" envDefault:"local"` // Lambda sets it: the dimension of the figures
}

// Tracing says where spans go.
type Tracing struct {
	Endpoint string `env:"OTEL_EXPORTER_OTLP_ENDPOINT"` // http://localhost:4318, where OTLP over HTTP is spoken; empty is off
}

// Check refuses what is no address.
func (t *Tracing) Check() error {
	if u, err := url.Parse(t.Endpoint); t.Endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT is malformed: %q is not http://host:port", t.Endpoint)
	}
	return nil
}

// The forms of a webhook's signature.
const (
	StandardWebhooks = "standard" // webhook-id, webhook-timestamp, webhook-signature
	StripeWebhooks   = "stripe"   // Stripe-Signature
)

// Webhook says whose payment events are accepted.
type Webhook struct {
	Secrets   []Secret      `env:"PAYMENT_SECRETS,notEmpty"` // whsec_..., separated by commas: while one is replaced, both
	Signature string        `env:"PAYMENT_SIGNATURE" envDefault:"standard"`
	Tolerance time.Duration `env:"PAYMENT_TOLERANCE" envDefault:"5m"` // how old, or how early, an event may be
}

// Check refuses secrets that are none in the chosen form.
func (w *Webhook) Check() error {
	var faults []error
	if w.Signature != StandardWebhooks && w.Signature != StripeWebhooks {
		faults = append(faults, fmt.Errorf("PAYMENT_SIGNATURE is malformed: %q is not one of %s, %s",
			w.Signature, StandardWebhooks, StripeWebhooks))
	}
	if w.Tolerance < time.Second {
		faults = append(faults, errors.New("PAYMENT_TOLERANCE is malformed: it must be 1s or more"))
	}
	if _, err := w.Keys(); err != nil {
		faults = append(faults, fmt.Errorf("PAYMENT_SECRETS is malformed: %w", err))
	}
	return errors.Join(faults...)
}

// Keys are the secrets' bytes. Stripe signs with the secret's text as it is; the
// standard's secret is base64 behind whsec_, which some providers leave away.
func (w *Webhook) Keys() ([][]byte, error) {
	keys := make([][]byte, len(w.Secrets))
	for i, secret := range w.Secrets {
		key := []byte(secret.Reveal())
		if w.Signature != StripeWebhooks {
			var err error
			key, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(secret.Reveal(), "whsec_"))
			if err != nil {
				return nil, fmt.Errorf("secret %d is not base64", i+1) // err would quote it
			}
		}
		if len(key) < 16 {
			return nil, fmt.Errorf("secret %d has %d bytes, 16 or more are needed", i+1, len(key))
		}
		keys[i] = key
	}
	return keys, nil
}
