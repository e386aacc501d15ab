// Package config reads the environment, and is the only package that does.
//
// A function lists what it needs as a struct made of the parts below and calls
// [Load] once. What must not stand in an environment may stand in a secret of
// AWS Secrets Manager, which SECRETS_ID names. The package promises that a wrong
// setup is found at the start, in one message that names every missing and every
// malformed variable, and that a [Secret] never appears in it, nor in a log.
package config

import (
	"encoding"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/caarlos0/env/v11"
)

// checker is a part that knows more about its values than their types say.
type checker interface{ Check() error }

// Load fills a T, a struct of this package's parts and of fields with env tags
// as github.com/caarlos0/env has them. An empty variable counts as not set:
// CloudFormation passes an absent parameter on as "". The error names each
// wrong variable on a line of its own.
//
// Without SECRETS_ID it asks nobody. With it, it reads the secret once, at the
// start: a changed secret reaches new environments only.
func Load[T any]() (T, error) {
	var t T
	vars := environment()
	if err := addSecrets(vars); err != nil {
		return t, fmt.Errorf("config: the secrets are of no use:\n%w", err)
	}
	faults := fill(reflect.ValueOf(&t).Elem(), vars)
	if len(faults) == 0 {
		return t, nil
	}
	return t, fmt.Errorf("config: the environment is incomplete:\n%w", errors.Join(faults...))
}

func environment() map[string]string {
	vars := env.ToMap(os.Environ())
	for name, value := range vars {
		vars[name] = strings.TrimSpace(value)
	}
	return vars
}

// fill parses field by field, because the library names a malformed value's Go
// field, and the operator knows only the variable.
func fill(part reflect.Value, vars map[string]string) []error {
	var faults []error
	for i := range part.NumField() {
		field := part.Type().Field(i)
		if field.Type.Kind() == reflect.Struct && !readsText(field.Type) {
			faults = append(faults, fill(part.Field(i), vars)...)
			continue
		}
		field.Anonymous = false // StructOf refuses some embedded types
		one := reflect.New(reflect.StructOf([]reflect.StructField{field}))
		if err := env.ParseWithOptions(one.Interface(), env.Options{Environment: vars}); err != nil {
			faults = append(faults, fault(field, err))
			continue
		}
		part.Field(i).Set(one.Elem().Field(0))
	}
	// A part with a hole would only complain about the hole again.
	if c, ok := part.Addr().Interface().(checker); ok && len(faults) == 0 {
		if err := c.Check(); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func fault(field reflect.StructField, err error) error {
	name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
	var empty env.EmptyVarError
	var unset env.VarIsNotSetError
	if errors.As(err, &empty) || errors.As(err, &unset) {
		return fmt.Errorf("%s is missing", name)
	}
	if malformed, ok := errors.AsType[env.ParseError](err); ok {
		err = malformed.Err
	}
	return fmt.Errorf("%s is malformed: %w", name, err)
}
