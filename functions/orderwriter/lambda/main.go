// Command lambda wires the order writer.
package main

import (
	"context"
	"errors"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/orderwriter"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
	"flashsale/shared/tracing"
)

func main() { log.Fatal(run()) }

func run() error {
	cfg, err := config.Load[orderwriter.Config]()
	if err != nil {
		return err
	}
	rdb, err1 := connect.Redis(cfg.Redis)
	kafka, err2 := connect.Kafka(cfg.Kafka, orderlog.ClientOptions()...)
	pool, err3 := connect.Postgres(context.Background(), cfg.Postgres)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	lines, meter := telemetry.Open(cfg.Log)
	lambda.Start(&orderwriter.Handler{
		Stock: stock.New(rdb), Orders: order.New(pool),
		Letters:    orderlog.NewDeadLetters(kafka, cfg.DeadLetterTopic),
		WholeBatch: cfg.WholeBatch,
		Log:        lines,
		Tracer:     tracing.New(cfg.Tracing, cfg.Function, lines),
		Meter:      meter,
	})
	return nil
}
