// Command crash is a function that ends in every way: its event is "panic", "exit", or anything
// else for an answer, which counts the invocations of this process.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

type handler struct{ count int }

func (h *handler) Invoke(_ context.Context, event []byte) ([]byte, error) {
	h.count++
	switch string(event) {
	case `"panic"`:
		panic("as I was told")
	case `"exit"`:
		os.Exit(3)
	}
	return fmt.Append(nil, h.count), nil
}

func main() { lambda.Start(new(handler)) }
