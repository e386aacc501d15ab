package measure

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"

	"flashsale/localstack/dev/gateway"
	"flashsale/localstack/dev/lambda"
	"flashsale/localstack/dev/shop"
)

// cached events fit into a processor's cache, where a real one is when it has just
// come. They are refused often before the next ones are.
const (
	cached = 256
	often  = 25
)

// letters writes events of purchases as API Gateway sends them.
func letters(l lot) func(token string) []byte {
	var event []byte
	api := gateway.New([]gateway.Route{shop.Routes[0]}, map[string]lambda.Invoke{"purchase": func(_ context.Context, got []byte) ([]byte, error) {
		event = bytes.Clone(got)
		return []byte(`{"statusCode":200,"body":""}`), nil
	}}, slog.New(slog.DiscardHandler))
	return func(token string) []byte {
		request := httptest.NewRequest(http.MethodPost, fmt.Sprintf("/api/flash-sales/items/%d/purchase", l.item), http.NoBody)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("User-Agent", "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/146.0 Mobile Safari/537.36")
		request.Header.Set("Accept", "*/*")
		api.ServeHTTP(httptest.NewRecorder(), request)
		return event
	}
}

// events of shoppers who have not won.
func (b *bench) events(l lot, n int) ([][]byte, error) {
	tokens, err := b.sign(n)
	if err != nil {
		return nil, err
	}
	write, events := letters(l), make([][]byte, n)
	for i, token := range tokens {
		events[i] = write(token)
	}
	return events, nil
}

// suspects are those whom the filter takes for winners, one in more than a thousand: they
// go to Redis, and allocate.
func suspects(ctx context.Context, purchase lambda.Invoke, events [][]byte) []bool {
	var before, after runtime.MemStats
	found := make([]bool, len(events))
	for i, event := range events {
		const times = 20 // a look at Redis may fall into one
		runtime.ReadMemStats(&before)
		for range times {
			_, _ = purchase(ctx, event)
		}
		runtime.ReadMemStats(&after)
		found[i] = after.Mallocs-before.Mallocs >= 50*times
	}
	return found
}

// presses are n, of all shoppers. A suspect's has a new token each time, whose signature
// must be checked: a shop meets each shopper's for the first time.
func (b *bench) presses(l lot, events [][]byte, suspect []bool, n int) ([][]byte, error) {
	write, all := letters(l), make([][]byte, n)
	for i := range all {
		turn := i / (cached * often)
		who := (turn*cached + i%cached) % len(events)
		all[i] = events[who]
		if suspect[who] {
			token, err := b.provider.Token(fmt.Sprintf("shopper-%d", who))
			if err != nil {
				return nil, err
			}
			all[i] = write(token)
		}
	}
	return all, nil
}

// strangers presses n times, by nobody whom the filter takes for a winner.
func strangers(events [][]byte, suspect []bool, n int) [][]byte {
	var some, all [][]byte
	for i := 0; i < len(events) && len(some) < cached; i++ {
		if !suspect[i] {
			some = append(some, events[i])
		}
	}
	for i := range n {
		all = append(all, some[i%len(some)])
	}
	return all
}
