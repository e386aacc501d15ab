package config_test

import (
	"strings"
	"testing"
	"time"

	"flashsale/shared/config"
)

func setWebhook(t *testing.T, vars map[string]string) {
	t.Helper()
	for _, name := range []string{"PAYMENT_SECRETS", "PAYMENT_SIGNATURE", "PAYMENT_TOLERANCE"} {
		t.Setenv(name, vars[name])
	}
}

func TestWebhook(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	setWebhook(t, map[string]string{"PAYMENT_SECRETS": secret + "," + strings.TrimPrefix(secret, "whsec_")})
	got, err := config.Load[config.Webhook]()
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	if got.Signature != config.StandardWebhooks || got.Tolerance != 5*time.Minute || len(got.Secrets) != 2 || got.Secrets[0].Reveal() != secret {
		t.Errorf("defaults: got %+v", got)
	}
	keys, err := got.Keys()
	if err != nil || len(keys) != 2 || len(keys[0]) != 24 || string(keys[0]) != string(keys[1]) {
		t.Errorf("keys: got %q, %v, want the same 24 bytes twice", keys, err)
	}

	setWebhook(t, map[string]string{"PAYMENT_SECRETS": "whsec_of the text itself", "PAYMENT_SIGNATURE": "stripe"})
	if got, err = config.Load[config.Webhook](); err != nil {
		t.Fatalf("stripe: %v", err)
	}
	if keys, err := got.Keys(); err != nil || string(keys[0]) != "whsec_of the text itself" {
		t.Errorf("stripe's key: got %q, %v", keys, err)
	}
}

func TestWebhookFaults(t *testing.T) {
	for name, test := range map[string]struct {
		vars map[string]string
		want []string
	}{
		"nothing":   {nil, []string{"PAYMENT_SECRETS is missing"}},
		"no base64": {map[string]string{"PAYMENT_SECRETS": "whsec_hidden!"}, []string{"PAYMENT_SECRETS is malformed: secret 1 is not base64"}},
		"short":     {map[string]string{"PAYMENT_SECRETS": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw,whsec_aGlkZGVu"}, []string{"secret 2 has 6 bytes"}},
		"gap":       {map[string]string{"PAYMENT_SECRETS": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw,"}, []string{"secret 2 has 0 bytes"}},
		"two at once": {
			map[string]string{"PAYMENT_SECRETS": "x", "PAYMENT_SIGNATURE": "paypal", "PAYMENT_TOLERANCE": "0s"},
			[]string{`PAYMENT_SIGNATURE is malformed: "paypal"`, "PAYMENT_TOLERANCE is malformed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			setWebhook(t, test.vars)
			_, err := config.Load[config.Webhook]()
			if err == nil {
				t.Fatal("load: got no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hidden") {
				t.Errorf("error %q shows a secret", err)
			}
		})
	}
}
