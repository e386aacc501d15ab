package config_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"flashsale/shared/config"
	"flashsale/shared/sigv4/sigv4test"
)

// few is what these tests load.
type few struct {
	config.OrderIDs
	config.Log
}

// store puts a secret named shop into a Secrets Manager and says so in the environment.
func store(t *testing.T, secret string, vars map[string]string) {
	t.Helper()
	address := sigv4test.Serve(t, func(service, what string, body []byte) (int, string) {
		var in map[string]string
		if err := json.Unmarshal(body, &in); err != nil || service != "secretsmanager" || what != "secretsmanager.GetSecretValue" || in["SecretId"] != "shop" {
			return http.StatusBadRequest, `{"__type":"ResourceNotFoundException","Message":"Secrets Manager can't find the specified secret."}`
		}
		answer, err := json.Marshal(map[string]any{"Name": "shop", "SecretString": secret, "CreatedDate": 1.7e9})
		if err != nil {
			t.Error(err)
		}
		return http.StatusOK, string(answer)
	})
	all := map[string]string{
		"SECRETS_ID": "shop", "AWS_ENDPOINT_URL_SECRETS_MANAGER": address + "/", "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
		"AWS_REGION": sigv4test.Region, "AWS_ACCESS_KEY_ID": sigv4test.KeyID,
		"AWS_SECRET_ACCESS_KEY": sigv4test.Secret, "AWS_SESSION_TOKEN": sigv4test.Session,
		"ORDER_ID_SECRET": "", "LOG_LEVEL": "",
	}
	maps.Copy(all, vars)
	for name, value := range all {
		t.Setenv(name, value)
	}
}

func TestLoadSecrets(t *testing.T) {
	store(t, `{"ORDER_ID_SECRET":" 0123456789abcdef\n","NOT_ASKED_FOR":"hunter2"}`, map[string]string{"LOG_LEVEL": "warn"})
	got, err := config.Load[few]()
	if err != nil || got.Secret.Reveal() != "0123456789abcdef" || got.Level.String() != "WARN" {
		t.Errorf("load: got %q %v, %v; want the secret's and the environment's", got.Secret.Reveal(), got.Level, err)
	}
}

func TestLoadSecretsByAWSEndpoint(t *testing.T) {
	store(t, `{"ORDER_ID_SECRET":"0123456789abcdef"}`, nil)
	general, err := config.Load[struct {
		Address string `env:"AWS_ENDPOINT_URL_SECRETS_MANAGER"`
	}]()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ENDPOINT_URL", general.Address)
	t.Setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", "")
	if _, err := config.Load[few](); err != nil {
		t.Errorf("load by AWS_ENDPOINT_URL: %v", err)
	}
}

func TestLoadSecretsFaults(t *testing.T) {
	const good = `{"ORDER_ID_SECRET":"hunter2hunter2hunter2"}`
	for name, c := range map[string]struct {
		secret string
		vars   map[string]string
		want   []string
	}{
		"no such secret":     {good, map[string]string{"SECRETS_ID": "other"}, []string{`"other"`, "ResourceNotFoundException"}},
		"a wrong key":        {good, map[string]string{"AWS_SECRET_ACCESS_KEY": "hunter2"}, []string{"InvalidSignatureException"}},
		"no role":            {good, map[string]string{"AWS_SECRET_ACCESS_KEY": ""}, []string{"AWS_SECRET_ACCESS_KEY is missing"}},
		"nobody there":       {good, map[string]string{"AWS_ENDPOINT_URL_SECRETS_MANAGER": "http://127.0.0.1:1"}, []string{`"shop" cannot be read`}},
		"no JSON":            {"hunter2", nil, []string{`"shop" is no JSON object`}},
		"null":               {"null", nil, []string{`"shop" is no JSON object`}},
		"a list":             {`["hunter2"]`, nil, []string{`"shop" is no JSON object`}},
		"no text":            {`{"ORDER_ID_SECRET":{"hunter2":1}}`, nil, []string{"ORDER_ID_SECRET is malformed"}},
		"set twice":          {good, map[string]string{"ORDER_ID_SECRET": "hunter2hunter2hunter2"}, []string{"ORDER_ID_SECRET is set twice"}},
		"the key is missing": {`{"OTHER":"hunter2"}`, nil, []string{"ORDER_ID_SECRET is missing"}},
		"a short value":      {`{"ORDER_ID_SECRET":"hunter2"}`, nil, []string{"ORDER_ID_SECRET is malformed"}},
	} {
		t.Run(name, func(t *testing.T) {
			store(t, c.secret, c.vars)
			_, err := config.Load[few]()
			if err == nil {
				t.Fatal("load: got no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %q shows a secret", err)
			}
		})
	}
}

func TestLogins(t *testing.T) {
	role := map[string]string{"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_SESSION_TOKEN": "t"}
	for name, c := range map[string]struct {
		vars map[string]string
		want []string // faults; none if it is to be taken
	}{
		"IAM everywhere": {map[string]string{"REDIS_AUTH": "iam", "KAFKA_AUTH": "iam", "KAFKA_TLS": "true", "DATABASE_AUTH": "iam"}, nil},
		"passwords":      {map[string]string{"AWS_REGION": ""}, nil},
		"a wrong way":    {map[string]string{"REDIS_AUTH": "IAM", "KAFKA_AUTH": "scram", "DATABASE_AUTH": "yes"}, []string{"REDIS_AUTH is malformed", "KAFKA_AUTH is malformed", "DATABASE_AUTH is malformed"}},
		"no role":        {map[string]string{"REDIS_AUTH": "iam", "DATABASE_AUTH": "iam", "AWS_ACCESS_KEY_ID": ""}, []string{"REDIS_AUTH is iam, but", "DATABASE_AUTH is iam, but"}},
		"in the clear":   {map[string]string{"KAFKA_AUTH": "iam"}, []string{"KAFKA_AUTH is iam, which needs KAFKA_TLS"}},
	} {
		t.Run(name, func(t *testing.T) {
			vars := complete()
			for _, more := range []map[string]string{{"REDIS_AUTH": "", "KAFKA_AUTH": "", "DATABASE_AUTH": "", "SECRETS_ID": ""}, role, c.vars} {
				maps.Copy(vars, more)
			}
			set(t, vars)
			for name, value := range vars {
				t.Setenv(name, value)
			}
			got, err := config.Load[everything]()
			if len(c.want) == 0 && err != nil {
				t.Errorf("load: %v", err)
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v does not say %q", err, want)
				}
			}
			if text, _ := json.Marshal(got); strings.Contains(string(text), "hunter2") {
				t.Errorf("the configuration shows the key: %s", text)
			}
		})
	}
}
