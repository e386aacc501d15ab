// Command lambda wires the stockkeeper.
package main

import (
	"context"
	"errors"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/stockkeeper"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/recovery"
	"flashsale/shared/schedule"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
)

func main() { log.Fatal(run()) }

func run() error {
	cfg, err := config.Load[stockkeeper.Config]()
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
	lines, meter := telemetry.Open(cfg.Log)
	lambda.Start(&stockkeeper.Handler{
		Orders: orders, Stock: units, Pause: schedule.Pause,
		Keeper: &recovery.Keeper{
			Orders: orders, Stock: units, Log: orderlog.NewProducer(kafka, cfg.OrdersTopic), UnderWay: recovery.PurchaseBudget,
			Backlog: orderlog.Backlog(kafka, cfg.Group, cfg.OrdersTopic), Mark: orderlog.Marker(kafka, cfg.Group, cfg.OrdersTopic),
		},
		Feed:    orderlog.NewEventFeed(kafka, cfg.EventsTopic),
		Log:     lines,
		Meter:   meter,
		Letters: orderlog.Letters(kafka, cfg.DeadLetterTopic),
	})
	return nil
}
