// Command lambda wires the public view of sales and their admission.
package main

import (
	"errors"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/saleinfo"
	"flashsale/shared/admission"
	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/identity"
	"flashsale/shared/stock"
	"flashsale/shared/telemetry"
)

func main() { log.Fatal(run()) }

func run() error {
	cfg, err := config.Load[saleinfo.Config]()
	if err != nil {
		return err
	}
	rdb, err1 := connect.Redis(cfg.Redis)
	shoppers, err2 := identity.New(cfg.Identity, time.Now)
	office, err3 := admission.New(cfg.Admission)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	units := stock.New(rdb)
	lines, meter := telemetry.Open(cfg.Log)
	h := &saleinfo.Handler{
		Catalog: stock.NewCatalog(units, time.Now), Stock: units, Shoppers: shoppers, Office: office, Now: time.Now,
		Edge: apigw.Edge{Outcomes: meter.Outcomes("Requests"), Log: lines, Origins: cfg.AllowedOrigins},
	}
	lambda.StartWithOptions(h, lambda.WithEnableSIGTERM(h.Edge.Outcomes.Flush))
	return nil
}
