// Package telemetry is what a function tells about itself: log lines, and
// figures in CloudWatch's Embedded Metric Format.
//
// It promises one JSON object per line on the writer, without secrets: a
// config.Secret hides itself wherever it is printed. What is told is written
// before the invocation answers, because a frozen environment tells nothing;
// see [Outcomes] for the one exception.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"flashsale/shared/config"
)

// Open makes what a deployed function tells by, on its standard output.
func Open(cfg config.Log) (*slog.Logger, *Meter) {
	return NewLogger(os.Stdout, cfg.Level), NewMeter(os.Stdout, cfg.Function, time.Now)
}

// NewLogger logs from level on, in the form by which Lambda filters (timestamp,
// level, msg). A line that is logged with an invocation's context names it: its
// id is in Lambda's own lines too, and the trace id in whatever else the request
// went through.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(named{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: lambdaNames})})
}

// lambdaNames renames the one key that Lambda's log filter expects otherwise.
func lambdaNames(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		a.Key = "timestamp"
	}
	return a
}

// named adds the invocation to each line.
type named struct{ slog.Handler }

func (n named) Handle(ctx context.Context, r slog.Record) error {
	if invocation, ok := lambdacontext.FromContext(ctx); ok && invocation.AwsRequestID != "" {
		r.AddAttrs(slog.String("invocation", invocation.AwsRequestID))
	}
	// The runtime's key is a plain string. An edge has told the request's own.
	if header, ok := ctx.Value("x-amzn-trace-id").(string); ok && !has(r, "traceId") {
		if id := TraceID(header); id != "" {
			r.AddAttrs(slog.String("traceId", id))
		}
	}
	return n.Handler.Handle(ctx, r)
}

func has(r slog.Record, key string) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == key
		return !found
	})
	return found
}

func (n named) WithAttrs(attrs []slog.Attr) slog.Handler { return named{n.Handler.WithAttrs(attrs)} }
func (n named) WithGroup(name string) slog.Handler       { return named{n.Handler.WithGroup(name)} }

// TraceID is the id in X-Ray's header, such as 1-67891233-abcdef012345678912345678
// in "Root=1-67891233-abcdef012345678912345678;Sampled=1". The rest is left out, and
// so is what is no id: a caller may send the header too.
func TraceID(header string) string {
	for part := range strings.SplitSeq(header, ";") {
		id, ok := strings.CutPrefix(part, "Root=")
		if !ok {
			continue
		}
		if len(id) != 35 || id[:2] != "1-" || id[10] != '-' || strings.Trim(id[2:10]+id[11:], "0123456789abcdef") != "" {
			return ""
		}
		return id
	}
	return ""
}
