package connect

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/aws"

	"flashsale/shared/config"
)

// Kafka makes a client of the brokers. opts come last and win: the producer's
// and consumer's own rules belong to package orderlog. A login by IAM is signed
// for each connection, and again when the broker's time for it is over.
//
// After a freeze: a socket that was closed, or idle for four minutes, is
// replaced at its next use. One that died unnoticed holds a request until its
// time is over (the timeout it carries plus 2 s), so callers wait with their
// own deadline and treat its end as unknown.
func Kafka(cfg config.Kafka, opts ...kgo.Opt) (*kgo.Client, error) {
	base := []kgo.Opt{
		kgo.SeedBrokers(cfg.Brokers...),
		kgo.ClientID("flash-sale"),
		kgo.DialTimeout(time.Second),
		kgo.RequestTimeoutOverhead(2 * time.Second),
		kgo.ConnIdleTimeout(idleLimit),
		// Nothing may be sent in the background of a frozen environment.
		kgo.DisableClientMetrics(),
	}
	if cfg.TLS {
		base = append(base, kgo.DialTLS())
	}
	if cfg.Auth == config.IAM {
		base = append(base, kgo.SASL(aws.ManagedStreamingIAM(func(context.Context) (aws.Auth, error) {
			return aws.Auth{
				AccessKey: cfg.AWS.AccessKeyID, SecretKey: cfg.AWS.SecretAccessKey.Reveal(),
				SessionToken: cfg.AWS.SessionToken.Reveal(), UserAgent: "flash-sale",
			}, nil
		})))
	}
	client, err := kgo.NewClient(append(base, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("connect: kafka: %w", err)
	}
	return client, nil
}
