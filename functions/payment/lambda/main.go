// Command lambda wires the payment function.
package main

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/payment"
	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/order"
	"flashsale/shared/telemetry"
	"flashsale/shared/webhook"
)

func main() { log.Fatal(run()) }

func run() error {
	cfg, err := config.Load[payment.Config]()
	if err != nil {
		return err
	}
	pool, err1 := connect.Postgres(context.Background(), cfg.Postgres)
	scheme, err2 := webhook.New(cfg.Webhook)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	lines, meter := telemetry.Open(cfg.Log)
	h := &payment.Handler{
		Orders: order.New(pool), Scheme: scheme, Now: time.Now,
		Edge: apigw.Edge{Outcomes: meter.Outcomes("Requests"), Log: lines},
	}
	lambda.StartWithOptions(h, lambda.WithEnableSIGTERM(h.Edge.Outcomes.Flush))
	return nil
}
