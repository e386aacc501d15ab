// Command lambda wires the operator's function.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/saleadmin"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/recovery"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
)

func main() { log.Fatal(run()) }

func run() error {
	cfg, err := config.Load[saleadmin.Config]()
	if err != nil {
		return err
	}
	rdb, err1 := connect.Redis(cfg.Redis)
	kafka, err2 := connect.Kafka(cfg.Kafka, orderlog.ClientOptions()...)
	pool, err3 := connect.Postgres(context.Background(), cfg.Postgres)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	units, orders := stock.New(rdb), order.New(pool)
	lambda.Start(&saleadmin.Handler{
		Orders: orders, Stock: units, Kafka: kafka, Admits: len(cfg.PassKeys) > 0, Now: time.Now,
		Estate: saleadmin.Estate{Config: cfg, Redis: rdb, Pool: pool},
		Warmth: saleadmin.NewWarmth(cfg.Warm, cfg.AWS),
		Keeper: &recovery.Keeper{
			Orders: orders, Stock: units, Log: orderlog.NewProducer(kafka, cfg.OrdersTopic),
			Backlog: orderlog.Backlog(kafka, cfg.Group, cfg.OrdersTopic), UnderWay: recovery.PurchaseBudget,
		},
		OrdersTopic: cfg.OrdersTopic, DeadLetterTopic: cfg.DeadLetterTopic,
		Log: telemetry.NewLogger(os.Stdout, cfg.Log.Level),
	})
	return nil
}
