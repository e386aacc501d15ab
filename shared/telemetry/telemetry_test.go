package telemetry_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/telemetry"
)

func TestLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, slog.LevelInfo)
	log.Debug("hidden by the level")
	cfg := config.Postgres{URL: "postgres://u:hunter2@h/d"}
	log.Info("started", "requestId", "r1", "config", cfg, "group", slog.GroupValue(slog.String("time", "kept")),
		"err", fmt.Errorf("connect with %+v", cfg))
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Fatalf("%d lines, want 1:\n%s", n, &out)
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Errorf("the log shows a secret: %s", &out)
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("the line is not JSON: %v", err)
	}
	if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(line["timestamp"])); err != nil {
		t.Errorf("timestamp: %v", err)
	}
	if line["level"] != "INFO" || line["msg"] != "started" || line["requestId"] != "r1" {
		t.Errorf("line = %v", line)
	}
	if group, _ := line["group"].(map[string]any); group["time"] != "kept" {
		t.Errorf("an attribute called time in a group was renamed: %v", line["group"])
	}
}
