package measure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A runtimeAPI is what Lambda gives a function's program: events to fetch, and a place
// for answers. The emulator is too slow for a load.
type runtimeAPI struct {
	server  *http.Server
	address string
	events  [][]byte
	next    atomic.Int64
	stopped atomic.Bool

	accepted, refused, other atomic.Int64
}

func serveEvents(events [][]byte) (*runtimeAPI, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // loopback
	if err != nil {
		return nil, err
	}
	r := &runtimeAPI{address: l.Addr().String(), events: events}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", r.give)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{result}", r.take)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(l) }() // it ends when it is closed
	return r, nil
}

func (r *runtimeAPI) give(w http.ResponseWriter, request *http.Request) {
	if r.stopped.Load() {
		<-request.Context().Done() // as an environment that nobody calls
		return
	}
	n := r.next.Add(1)
	h := w.Header()
	h.Set("Lambda-Runtime-Aws-Request-Id", strconv.FormatInt(n, 10))
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(3*time.Second).UnixMilli(), 10))
	_, _ = w.Write(r.events[int(n-1)%len(r.events)])
}

func (r *runtimeAPI) take(w http.ResponseWriter, request *http.Request) {
	answer, err := io.ReadAll(request.Body)
	switch {
	case err != nil:
	case bytes.HasPrefix(answer, []byte(`{"statusCode":202`)):
		r.accepted.Add(1)
	case bytes.HasPrefix(answer, []byte(`{"statusCode":410`)), bytes.HasPrefix(answer, []byte(`{"statusCode":409`)):
		r.refused.Add(1)
	default:
		r.other.Add(1)
	}
	w.WriteHeader(http.StatusAccepted)
}

// resident is a process' memory, in MB.
func resident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, errors.New("no VmRSS: the program has ended")
}
