package orderwriter

import (
	"context"
	"time"

	"flashsale/shared/orderlog"
	"flashsale/shared/tracing"
)

// spans begins a step for each record that says where it comes from. They share
// the batch's time: that is how long each order waited for its row.
func (h *Handler) spans(records []orderlog.Record) []*tracing.Span {
	if h.Tracer == nil {
		return nil
	}
	var spans []*tracing.Span
	start := time.Now()
	for _, r := range records {
		for _, header := range r.Headers {
			if header.Key != tracing.Header {
				continue
			}
			span := h.Tracer.Begin("write order", tracing.Consumer, string(header.Value), start)
			span.Set("messaging.destination.name", r.Topic)
			span.Set("messaging.destination.partition.id", r.Partition)
			span.Set("messaging.kafka.offset", r.Offset)
			spans = append(spans, span)
		}
	}
	return spans
}

func (h *Handler) send(ctx context.Context, spans []*tracing.Span) {
	for _, span := range spans {
		span.End()
	}
	h.Tracer.Send(ctx, spans...)
}
