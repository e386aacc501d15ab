// Command dev is the development server: the whole flash sale on one machine, with
// nothing but Go installed.
//
// It promises the deployed functions, called with the deployed events: by an API
// Gateway, a Kafka mapping and schedules that work as Lambda's. Redis, Kafka and
// PostgreSQL are embedded unless REDIS_URL, KAFKA_BROKERS and DATABASE_URL name real
// ones. It listens on loopback only, says "ready" when a purchase can succeed, and
// leaves no process and no port behind, however it ends.
//
// Development servers that share a Kafka must share the database too, or have topics
// and a group of their own (KAFKA_ORDERS_TOPIC, KAFKA_DEAD_LETTER_TOPIC,
// KAFKA_GROUP): else each takes the other's orders and finds their sales unknown.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"flashsale/localstack/dev/postgres"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == postgres.ChildArgument {
		os.Exit(postgres.Child(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait
	err := run(ctx, os.Args[1:], os.Stdout)
	// Whatever an interrupted start says, it was asked to stop.
	if err == nil || ctx.Err() != nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "dev:", oneLine(err.Error()))
	os.Exit(1)
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")), " ")
}
