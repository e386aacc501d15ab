// Command lambda wires the expirer.
package main

import (
	"context"
	"errors"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/expirer"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/order"
	"flashsale/shared/schedule"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
)

func main() { log.Fatal(run()) }

func run() error {
	cfg, err := config.Load[expirer.Config]()
	if err != nil {
		return err
	}
	rdb, err1 := connect.Redis(cfg.Redis)
	pool, err2 := connect.Postgres(context.Background(), cfg.Postgres)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	lines, meter := telemetry.Open(cfg.Log)
	lambda.Start(&expirer.Handler{
		Orders: order.New(pool), Stock: stock.New(rdb), Pause: schedule.Pause,
		Log: lines, Meter: meter,
	})
	return nil
}
