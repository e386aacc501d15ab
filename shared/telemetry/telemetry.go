// Package telemetry makes the logger of every function.
//
// It promises one JSON object per line on the writer, in the form by which
// Lambda filters (timestamp, level, msg), without secrets: a config.Secret hides
// itself wherever it is printed.
package telemetry

import (
	"io"
	"log/slog"
)

// NewLogger logs from level on. Functions pass os.Stdout.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: lambdaNames}))
}

// lambdaNames renames the one key that Lambda's log filter expects otherwise.
func lambdaNames(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		a.Key = "timestamp"
	}
	return a
}

// RequestID is the attribute by which one request's lines are found.
func RequestID(id string) slog.Attr { return slog.String("requestId", id) }
