// Command lambda wires the public view of sales.
package main

import (
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/saleinfo"
	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
)

func main() { log.Fatal(run()) }

func run() error {
	cfg, err := config.Load[saleinfo.Config]()
	if err != nil {
		return err
	}
	rdb, err := connect.Redis(cfg.Redis)
	if err != nil {
		return err
	}
	units := stock.New(rdb)
	lambda.Start(&saleinfo.Handler{
		Catalog: stock.NewCatalog(units, time.Now), Stock: units, Now: time.Now,
		Edge: apigw.Edge{Log: telemetry.NewLogger(os.Stdout, cfg.Log.Level), Origins: cfg.AllowedOrigins},
	})
	return nil
}
