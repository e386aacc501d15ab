// Command cmd prints the API's description out of the template.yaml in the current
// folder, as plain OpenAPI.
package main

import (
	"fmt"
	"os"

	"flashsale/localstack/openapi"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	template, err := os.ReadFile("template.yaml")
	if err != nil {
		return fmt.Errorf("openapi: %w", err)
	}
	description, err := openapi.Read(template)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(description.JSON())
	return err
}
