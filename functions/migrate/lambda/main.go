// Command lambda wires the migrations.
package main

import (
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/migrate"
	"flashsale/migrations"
	"flashsale/shared/config"
	"flashsale/shared/connect"
)

func main() { log.Fatal(run()) }

func run() error {
	cfg, err := config.Load[migrate.Config]()
	if err != nil {
		return err
	}
	url, err := connect.PostgresURL(cfg.Postgres, os.TempDir())
	if err != nil {
		return err
	}
	lambda.Start(&migrate.Handler{
		DatabaseURL: url,
		Role:        migrations.Role{Name: cfg.Role, Connections: cfg.Connections},
	})
	return nil
}
