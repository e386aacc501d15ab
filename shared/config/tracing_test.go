package config_test

import (
	"testing"

	"flashsale/shared/config"
)

func TestTracingEndpoint(t *testing.T) {
	t.Parallel()
	for endpoint, good := range map[string]bool{
		"": true, "http://localhost:4318": true, "https://collector.example/otlp": true,
		"localhost:4318": false, "http://": false, "ftp://collector.example": false, "http://%zz": false,
	} {
		if err := (&config.Tracing{Endpoint: endpoint}).Check(); (err == nil) != good {
			t.Errorf("endpoint %q: got %v, want good: %t", endpoint, err, good)
		}
	}
}
