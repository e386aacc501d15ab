// Command lambda wires the purchase function.
package main

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/purchase"
	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/identity"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
	"flashsale/shared/tracing"
)

func main() { log.Fatal(run()) }

func run() error {
	cfg, err := config.Load[purchase.Config]()
	if err != nil {
		return err
	}
	rdb, err1 := connect.Redis(cfg.Redis)
	kafka, err2 := connect.Kafka(cfg.Kafka, orderlog.ClientOptions()...)
	shoppers, err3 := identity.New(cfg.Identity, time.Now)
	mint, err4 := sale.NewMint([]byte(cfg.OrderIDs.Secret.Reveal()), time.Now)
	gate, err5 := purchase.NewGate(cfg.AdmissionKeys, cfg.Limits, time.Now)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	units := stock.New(rdb, stock.Pipelined(cfg.Pipeline))
	catalog := stock.NewCatalog(units, time.Now)
	lines, meter := telemetry.Open(cfg.Log)
	h := &purchase.Handler{
		Catalog: catalog, Stock: units, Latch: stock.NewLatch(units, catalog, time.Now), Shoppers: shoppers, Mint: mint, Gate: gate, Now: time.Now,
		Log: orderlog.NewProducer(kafka, cfg.OrdersTopic), Tracer: tracing.New(cfg.Tracing, cfg.Function, lines), Edge: apigw.Edge{Log: lines, Outcomes: meter.Outcomes("Purchases"), Origins: cfg.AllowedOrigins},
	}
	h.Warm(context.Background())
	lambda.StartWithOptions(h, lambda.WithEnableSIGTERM(h.Edge.Outcomes.Flush))
	return nil
}
