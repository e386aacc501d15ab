// Command deploy is what a stack on LocalStack needs besides LocalStack.
//
//	deploy stage       makes the stack's own database, topics and Redis database, before it is deployed
//	deploy serve       migrates, creates and loads a sale, and then is what AWS and others are in
//	                   production: identity provider, payment provider, Kafka event source mapping
//	deploy invoke      one function in Lambda's runtime interface emulator, on an empty stage
//	deploy variables   an empty stage's environment, in the form that sam local invoke takes, and
//	                   relays to its servers until it is told to stop
//
// It promises that all it does to the functions goes through Lambda's Invoke call, as an
// operator's command line does it. localstack.sh and invoke.sh run it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"flashsale/localstack/deploy/stage"
)

// settings is what the commands are told.
type settings struct {
	state    string // the folder of this stack's files
	own      stage.Stack
	stack    string // prefix of its functions
	endpoint string // LocalStack's
	api      string // the deployed API's address
	port     int    // of the providers

	emulator, program, event string // paths, for invoke
	host                     string // where a container reaches this machine, for variables
}

// secretFile holds what the stack reads from Secrets Manager.
func (s settings) secretFile() string { return filepath.Join(s.state, "secret.json") }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("want stage, serve, invoke or variables")
	}
	var s settings
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&s.state, "state", "", "the `folder` of the stack's files")
	flags.StringVar(&s.own.Name, "name", "local", "prefix of topics and database")
	flags.IntVar(&s.own.RedisDatabase, "redis", 15, "its numbered Redis `database`")
	flags.StringVar(&s.stack, "stack", "", "prefix of the functions' names")
	flags.StringVar(&s.endpoint, "endpoint", "", "LocalStack's `address`")
	flags.StringVar(&s.api, "api", "", "the API's `address`")
	flags.IntVar(&s.port, "port", 0, "the providers' `port` on loopback")
	flags.StringVar(&s.emulator, "emulator", "", "the `path` of aws-lambda-rie")
	flags.StringVar(&s.program, "program", "", "the `path` of the function's bootstrap")
	flags.StringVar(&s.event, "event", "", "the event's `file`")
	flags.StringVar(&s.host, "host", "127.0.0.1", "the `address` at which a container reaches this machine")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "stage":
		return prepare(ctx, s)
	case "serve":
		return serve(ctx, s)
	case "invoke":
		return invoke(ctx, s)
	case "variables":
		return variables(ctx, s)
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
}

// prepare writes the secret, which localstack.sh puts into Secrets Manager and serve reads.
func prepare(ctx context.Context, s settings) error {
	secret, err := stage.Empty(ctx, s.own)
	if err != nil {
		return err
	}
	text, err := json.Marshal(secret)
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	return os.WriteFile(s.secretFile(), text, 0o600)
}
