package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// secretsTime bounds the reading of the secret: Lambda gives a start 10 s.
const secretsTime = 4 * time.Second

// A secretStore names the secret of Secrets Manager, by name or ARN, that has some
// of the variables: {"ORDER_ID_SECRET":"…","PAYMENT_SECRETS":"…"}.
type secretStore struct {
	ID       string `env:"SECRETS_ID"`
	Endpoint string `env:"AWS_ENDPOINT_URL_SECRETS_MANAGER"` // as AWS' own tools name it
	AWS      AWS
}

// addSecrets adds to vars what the secret has. It changes nothing if none is
// named. No error of it quotes a value.
func addSecrets(vars map[string]string) error {
	var store secretStore
	if faults := fill(reflect.ValueOf(&store).Elem(), vars); len(faults) > 0 {
		return errors.Join(faults...)
	}
	if store.ID == "" {
		return nil
	}
	if !store.AWS.Known() {
		return errors.New("SECRETS_ID is set, but AWS_REGION, AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is missing: Lambda sets them")
	}
	text, err := store.read()
	if err != nil {
		return fmt.Errorf("SECRETS_ID: the secret %q cannot be read: %w", store.ID, err)
	}
	var values map[string]any
	if json.Unmarshal([]byte(text), &values) != nil || values == nil { // its error may quote the text
		return fmt.Errorf("SECRETS_ID: the secret %q is no JSON object", store.ID)
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, ok := values[name].(string)
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("%s is malformed: in the secret %q it is no text", name, store.ID))
		case vars[name] != "":
			faults = append(faults, fmt.Errorf("%s is set twice, in the environment and in the secret %q: one is needed", name, store.ID))
		default:
			vars[name] = strings.TrimSpace(value)
		}
	}
	return errors.Join(faults...)
}

func (s *secretStore) read() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), secretsTime)
	defer cancel()
	endpoint := strings.TrimSuffix(s.Endpoint, "/")
	if endpoint == "" {
		endpoint = s.AWS.EndpointOf("secretsmanager")
	}
	in := map[string]string{"SecretId": s.ID}
	var out struct{ SecretString string }
	err := s.AWS.Signer(time.Now).Call(ctx, endpoint, "secretsmanager", "secretsmanager.GetSecretValue", in, &out)
	return out.SecretString, err
}
