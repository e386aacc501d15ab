package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/shared/config"
)

type everything struct {
	config.Redis
	config.Kafka
	Database config.Postgres
	config.Identity
	config.OrderIDs
	config.HTTP
	config.Log
	Timeout time.Duration `env:"TIMEOUT" envDefault:"2s"`
}

// Setenv and t.Parallel exclude each other, so the tests that load are not parallel.
func set(t *testing.T, vars map[string]string) {
	t.Helper()
	for _, name := range []string{
		"REDIS_URL", "REDIS_POOL_SIZE", "REDIS_PIPELINE", "KAFKA_BROKERS", "KAFKA_TLS", "KAFKA_ORDERS_TOPIC", "KAFKA_DEAD_LETTER_TOPIC",
		"KAFKA_EVENTS_TOPIC", "KAFKA_GROUP", "DATABASE_URL", "DB_EXEC_MODE", "DB_POOL_SIZE", "JWT_ISSUER", "JWT_AUDIENCE",
		"JWKS_URL", "JWKS", "JWKS_COOLDOWN", "JWT_SKEW", "ORDER_ID_SECRET", "ALLOWED_ORIGINS", "LOG_LEVEL", "TIMEOUT",
	} {
		t.Setenv(name, vars[name])
	}
}

func complete() map[string]string {
	return map[string]string{
		"REDIS_URL": "redis://localhost:6379", "KAFKA_BROKERS": "a:9092,b:9092", "DATABASE_URL": "postgres://localhost/shop",
		"JWT_ISSUER": "https://id.example", "JWT_AUDIENCE": "shop", "JWKS_URL": "https://id.example/jwks",
		"ORDER_ID_SECRET": "0123456789abcdef",
	}
}

func TestLoadWithDefaults(t *testing.T) {
	set(t, complete())
	got, err := config.Load[everything]()
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	want := everything{
		Redis: config.Redis{URL: "redis://localhost:6379", PoolSize: 64, Pipeline: true},
		Kafka: config.Kafka{
			Brokers: []string{"a:9092", "b:9092"}, OrdersTopic: "flash-sale-orders",
			DeadLetterTopic: "flash-sale-orders-dlq", EventsTopic: "flash-sale-order-events", Group: "flash-sale-orderwriter",
		},
		Database: config.Postgres{URL: "postgres://localhost/shop", ExecMode: config.CacheStatement, PoolSize: 4},
		Identity: config.Identity{
			Issuer: "https://id.example", Audience: "shop", JWKSURL: "https://id.example/jwks",
			Cooldown: 30 * time.Second, Skew: time.Minute,
		},
		OrderIDs: config.OrderIDs{Secret: "0123456789abcdef"},
		Log:      config.Log{Function: "local"},
		Timeout:  2 * time.Second,
	}
	if !reflect.DeepEqual(got, want) {
		gotJSON, _ := json.Marshal(got)
		wantJSON, _ := json.Marshal(want)
		t.Errorf("Load =\n%s, want\n%s", gotJSON, wantJSON)
	}
}

func TestLoadAllSet(t *testing.T) {
	vars := complete()
	for name, value := range map[string]string{
		"REDIS_POOL_SIZE": "8", "REDIS_PIPELINE": "false", "KAFKA_TLS": "true", "DB_EXEC_MODE": "exec", "DB_POOL_SIZE": "2", "JWT_SKEW": "5s",
		"ALLOWED_ORIGINS": "https://a.example,https://b.example", "LOG_LEVEL": "debug", "TIMEOUT": " 3s\n",
	} {
		vars[name] = value
	}
	set(t, vars)
	got, err := config.Load[everything]()
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	if got.PoolSize != 8 || got.Pipeline || !got.TLS || got.Database.ExecMode != config.Exec || got.Database.PoolSize != 2 ||
		got.Skew != 5*time.Second || got.Level != slog.LevelDebug || got.Timeout != 3*time.Second ||
		!reflect.DeepEqual(got.AllowedOrigins, []string{"https://a.example", "https://b.example"}) {
		t.Errorf("Load = %+v", got)
	}
}

func TestLoadReportsEverythingAtOnce(t *testing.T) {
	set(t, map[string]string{
		"REDIS_POOL_SIZE": "many", "KAFKA_BROKERS": "a:1,,b:1", "DB_POOL_SIZE": "0", "DB_EXEC_MODE": "fast",
		"DATABASE_URL": "x", "JWT_SKEW": "soon", "ORDER_ID_SECRET": "hunter2", "LOG_LEVEL": "loud",
	})
	_, err := config.Load[everything]()
	if err == nil {
		t.Fatal("Load succeeded, want an error")
	}
	lines := strings.Split(err.Error(), "\n")[1:]
	want := []string{
		"REDIS_URL is missing", "REDIS_POOL_SIZE is malformed", "KAFKA_BROKERS is malformed", "DB_EXEC_MODE is malformed",
		"DB_POOL_SIZE is malformed", "JWT_ISSUER is missing", "JWT_AUDIENCE is missing", "JWT_SKEW is malformed",
		"ORDER_ID_SECRET is malformed", "LOG_LEVEL is malformed",
	}
	if len(lines) != len(want) {
		t.Errorf("%d lines, want %d:\n%v", len(lines), len(want), err)
	}
	for _, line := range want {
		if strings.Count(err.Error(), line) != 1 {
			t.Errorf("%q is not there exactly once:\n%v", line, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows a secret:\n%v", err)
	}
}

func TestLoadWantsOneKeySource(t *testing.T) {
	for name, tc := range map[string]struct {
		url, jwks string
		ok        bool
	}{
		"url":  {"https://id.example", "", true},
		"jwks": {"", `{"keys":[]}`, true},
		"both": {"https://id.example", `{"keys":[]}`, false},
		"none": {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			vars := complete()
			vars["JWKS_URL"], vars["JWKS"] = tc.url, tc.jwks
			set(t, vars)
			if _, err := config.Load[struct{ config.Identity }](); (err == nil) != tc.ok {
				t.Errorf("Load: %v, want success %t", err, tc.ok)
			}
		})
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	t.Parallel()
	const secret config.Secret = "hunter2"
	nested := struct {
		Secret  config.Secret
		Pointer *config.Secret
		Map     map[string]config.Secret
		Any     any
	}{secret, new(secret), map[string]config.Secret{"k": secret}, secret}
	var shown []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%10s", "%-3v"} {
		shown = append(shown, fmt.Sprintf(verb, secret), fmt.Sprintf(verb, nested))
	}
	shown = append(shown, fmt.Sprint(secret), secret.String(), fmt.Errorf("wrapped: %v", secret).Error())
	for _, value := range []any{secret, nested} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatalf("Marshal: %v", err)
		}
		shown = append(shown, string(text))
		var log bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
			slog.New(handler).Info("m", "value", value, slog.Group("g", "value", value))
		}
		shown = append(shown, log.String())
	}
	hex := fmt.Sprintf("%x", string(secret))
	for _, text := range shown {
		if strings.Contains(text, "hunter2") || strings.Contains(strings.ToLower(text), hex) {
			t.Errorf("the secret is shown: %s", text)
		}
	}
	if got := secret.Reveal(); got != "hunter2" {
		t.Errorf("Reveal = %q, want hunter2", got)
	}
}
