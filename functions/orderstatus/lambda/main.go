// Command lambda wires the order status function.
package main

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/orderstatus"
	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/identity"
	"flashsale/shared/order"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
)

func main() { log.Fatal(run()) }

func run() error {
	cfg, err := config.Load[orderstatus.Config]()
	if err != nil {
		return err
	}
	rdb, err1 := connect.Redis(cfg.Redis)
	pool, err2 := connect.Postgres(context.Background(), cfg.Postgres)
	shoppers, err3 := identity.New(cfg.Identity, time.Now)
	mint, err4 := sale.NewMint([]byte(cfg.OrderIDs.Secret.Reveal()), time.Now)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	units := stock.New(rdb)
	lines, meter := telemetry.Open(cfg.Log)
	h := &orderstatus.Handler{
		Catalog: stock.NewCatalog(units, time.Now), Stock: units, Orders: order.New(pool),
		Shoppers: shoppers, Mint: mint, Now: time.Now,
		Edge: apigw.Edge{Outcomes: meter.Outcomes("Requests"), Log: lines, Origins: cfg.AllowedOrigins},
	}
	lambda.StartWithOptions(h, lambda.WithEnableSIGTERM(h.Edge.Outcomes.Flush))
	return nil
}
