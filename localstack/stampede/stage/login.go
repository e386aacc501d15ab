package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/localstack/dev/login"
)

// signMany makes tokens on all cores: half a million take seconds.
func signMany(ctx context.Context, provider *login.Provider, n int, out io.Writer) ([]string, error) {
	tokens := make([]string, n)
	var next, failed atomic.Int64
	var signing sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		signing.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				token, err := provider.Token(userName(int(i)))
				if err != nil {
					failed.Add(1)
				}
				tokens[i] = token
			}
		})
	}
	tellSigned(n, &next, &signing, out)
	if failed.Load() > 0 {
		return nil, errors.New("stage: tokens could not be signed")
	}
	return tokens, ctx.Err()
}

func userName(i int) string { return fmt.Sprintf("shopper-%d", i) }

// tellSigned prints a line a second until all is signed.
func tellSigned(n int, next *atomic.Int64, signing *sync.WaitGroup, out io.Writer) {
	done := make(chan struct{})
	go func() { signing.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Second):
			_, _ = fmt.Fprintf(out, "tokens: %d of %d\n", min(next.Load(), int64(n)), n)
		}
	}
}
