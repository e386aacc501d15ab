package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/localstack/dev/gateway"
	"flashsale/localstack/dev/lambda"
)

// BenchmarkRefusal is a refusal by HTTP, from a connection of its own to a function
// that does nothing: what the gateway, net/http and the network cost. The client is
// as lean as it can be, and in it.
func BenchmarkRefusal(b *testing.B) {
	answer := []byte(`{"statusCode":410,"headers":{"Cache-Control":"no-store","Content-Type":"application/json"},"body":"{\"error\":\"SOLD_OUT\",\"message\":\"This item is sold out.\"}"}`)
	functions := map[string]lambda.Invoke{"purchase": func(context.Context, []byte) ([]byte, error) { return answer, nil }}
	route := []gateway.Route{{Method: http.MethodPost, Resource: "/api/flash-sales/items/{itemId}/purchase", Function: "purchase"}}
	server := httptest.NewServer(gateway.New(route, functions, slog.New(slog.DiscardHandler)))
	b.Cleanup(server.Close)
	request := []byte("POST /api/flash-sales/items/1001/purchase HTTP/1.1\r\nHost: localhost:3000\r\nContent-Length: 0\r\nAuthorization: Bearer " + strings.Repeat("x", 500) + "\r\n\r\n")
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://")) //nolint:noctx // loopback
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		in := bufio.NewReader(conn)
		for pb.Next() {
			if _, err := conn.Write(request); err != nil {
				b.Error(err)
				return
			}
			if err := readAnswer(in); err != nil {
				b.Error(err)
				return
			}
		}
	})
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
}

// readAnswer passes over an answer of 410.
func readAnswer(in *bufio.Reader) error {
	length := 0
	for n := 0; ; n++ {
		line, err := in.ReadString('\n')
		switch {
		case err != nil:
			return err
		case n == 0 && !strings.HasPrefix(line, "HTTP/1.1 410 "):
			return errors.New(line)
		case line == "\r\n":
			_, err := in.Discard(length)
			return err
		}
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
}
