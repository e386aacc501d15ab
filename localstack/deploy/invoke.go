package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"flashsale/localstack/deploy/emulator"
	"flashsale/localstack/deploy/relay"
	"flashsale/localstack/deploy/stage"
	"flashsale/localstack/dev/login"
	"flashsale/migrations"
)

// invoke calls one program once, on an empty stage with a schema, and prints its answer.
func invoke(ctx context.Context, s settings) error {
	event, err := os.ReadFile(s.event)
	if err != nil {
		return fmt.Errorf("invoke: %w", err)
	}
	environment, err := furnish(ctx, s.own)
	if err != nil {
		return err
	}
	e, err := emulator.Start(ctx, emulator.Function{Emulator: s.emulator, Program: s.program, Env: environment})
	if err != nil {
		return err
	}
	defer e.Stop()
	answer, err := e.Invoke(ctx, event)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, e.Output())
	}
	fmt.Printf("%s\n", answer)
	return nil
}

// variables prints {"Parameters":{NAME:value}} and relays connections for a container until it is
// told to stop: the servers listen on loopback, where no container reaches them.
func variables(ctx context.Context, s settings) error {
	environment, err := furnish(ctx, s.own)
	if err != nil {
		return err
	}
	environment, relays, err := relay.Environment(s.host, environment)
	for _, r := range relays {
		defer r.Close()
	}
	if err != nil {
		return err
	}
	parameters := make(map[string]string, len(environment))
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		parameters[name] = value
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"Parameters": parameters}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// furnish makes a stage with a schema and returns what its functions are told. Until this process
// ends, the stage is its own.
func furnish(ctx context.Context, own stage.Stack) ([]string, error) {
	if _, err := own.Hold(ctx); err != nil {
		return nil, err
	}
	secret, err := stage.Empty(ctx, own)
	if err != nil {
		return nil, err
	}
	if _, err := migrations.Up(ctx, secret.DatabaseURL); err != nil {
		return nil, err
	}
	identity, err := login.New("http://127.0.0.1/dev", audience, time.Now)
	if err != nil {
		return nil, err
	}
	keys, err := identity.JWKS()
	if err != nil {
		return nil, err
	}
	return secret.Environment(own, identity.Issuer(), audience, string(keys)), nil
}
