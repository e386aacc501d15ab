// Package openapi is the API's description as everybody but API Gateway reads it:
// plain OpenAPI, taken out of template.yaml.
//
// It promises that there is only that one description, and that an answer which
// [Description.Check] lets pass has a status, headers and a body that it names, with
// no field more.
package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v4"
)

// title stands for the stack's name, which only a deployment knows.
const title = "Flash sale"

// A Description is the API in OpenAPI's words.
type Description struct {
	text  []byte
	spec  *openapi3.T
	paths []string // those with fixed segments before those with parameters, as API Gateway chooses
}

// Read takes the description out of the text of template.yaml. It is checked to be
// valid OpenAPI.
func Read(template []byte) (*Description, error) {
	var resources struct {
		Resources struct {
			Api struct { //nolint:revive // the resource's name
				Properties struct {
					DefinitionBody map[string]any `yaml:"DefinitionBody"`
				} `yaml:"Properties"`
			} `yaml:"Api"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(template, &resources); err != nil {
		return nil, fmt.Errorf("openapi: template: %w", err)
	}
	body, ok := plain(resources.Resources.Api.Properties.DefinitionBody).(map[string]any)
	if !ok || len(body) == 0 {
		return nil, errors.New("openapi: template: Api has no DefinitionBody")
	}
	at(body, "info")["title"] = title
	closeAnswers(body)
	text, err := json.MarshalIndent(body, "", " ")
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	loader := openapi3.NewLoader()
	spec, err := loader.LoadFromData(append(text, '\n'))
	if err == nil {
		err = spec.Validate(loader.Context)
	}
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	// A brace comes after every letter, so this is API Gateway's choice too.
	return &Description{text: append(text, '\n'), spec: spec, paths: slices.Sorted(slices.Values(spec.Paths.Keys()))}, nil
}

// JSON is the description as a document of its own.
func (d *Description) JSON() []byte { return d.text }

// plain leaves out what is API Gateway's own, and turns x-plain-NAME into NAME.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(value))
		for name, inner := range value {
			if meant, ok := strings.CutPrefix(name, "x-plain-"); ok {
				name = meant
			}
			if !strings.HasPrefix(name, "x-") {
				kept[name] = plain(inner)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i, inner := range value {
			kept[i] = plain(inner)
		}
		return kept
	}
	return value
}

// closeAnswers forbids fields that are not described in all but requests, whose
// senders may add what they like. API Gateway's models do not know that word.
func closeAnswers(body map[string]any) {
	schemas := at(body, "components", "schemas")
	sent := make(map[string]bool)
	for _, item := range at(body, "paths") {
		operations, _ := item.(map[string]any)
		for _, operation := range operations {
			if operation, ok := operation.(map[string]any); ok {
				follow(operation["requestBody"], schemas, sent)
			}
		}
	}
	for name, schema := range schemas {
		if schema, ok := schema.(map[string]any); ok && !sent[name] && schema["type"] == "object" {
			schema["additionalProperties"] = false
		}
	}
}

// follow notes the schemas that value refers to, and those that they refer to.
func follow(value any, schemas map[string]any, found map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		if target, ok := value["$ref"].(string); ok {
			name := target[strings.LastIndex(target, "/")+1:]
			if !found[name] {
				found[name] = true
				follow(schemas[name], schemas, found)
			}
		}
		for _, inner := range value {
			follow(inner, schemas, found)
		}
	case []any:
		for _, inner := range value {
			follow(inner, schemas, found)
		}
	}
}

// at goes down the maps; where there is none it returns nil.
func at(value map[string]any, names ...string) map[string]any {
	for _, name := range names {
		value, _ = value[name].(map[string]any)
	}
	return value
}
