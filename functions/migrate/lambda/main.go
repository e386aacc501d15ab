// Command lambda wires the migrations.
package main

import (
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/migrate"
	"flashsale/shared/config"
)

func main() { log.Fatal(run()) }

func run() error {
	cfg, err := config.Load[migrate.Config]()
	if err != nil {
		return err
	}
	lambda.Start(&migrate.Handler{DatabaseURL: cfg.URL.Reveal()})
	return nil
}
