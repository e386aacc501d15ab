package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"
)

const (
	maxPayload = 6 << 20          // Lambda's own, for synchronous calls
	maxRun     = 15 * time.Minute // Lambda's longest timeout
)

// Handler answers POST /2015-03-31/functions/{name}/invocations for the functions,
// which are named as their folders. A failed function is 200 with the header
// X-Amz-Function-Error, as with Lambda. The invocation types are RequestResponse,
// Event and DryRun.
func Handler(functions map[string]Invoke, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2015-03-31/functions/{name}/invocations", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		invoke, ok := functions[name]
		if !ok {
			refuse(w, http.StatusNotFound, "ResourceNotFoundException", "Function not found: "+name)
			return
		}
		event, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPayload))
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			refuse(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException", "The payload is over 6 MB")
			return
		}
		if len(event) == 0 {
			event = []byte("{}")
		}
		if err != nil || !json.Valid(event) {
			refuse(w, http.StatusBadRequest, "InvalidRequestContentException", "Could not parse request body into json")
			return
		}
		w.Header().Set("X-Amzn-Requestid", RequestID())
		switch kind := r.Header.Get("X-Amz-Invocation-Type"); kind {
		case "", "RequestResponse":
			respond(w, r.Context(), invoke, event)
		case "Event":
			go func() {
				if _, err := Call(r.Context(), invoke, maxRun, event); err != nil {
					log.Error("function failed", "function", name, "error", err)
				}
			}()
			w.WriteHeader(http.StatusAccepted)
		case "DryRun":
			w.WriteHeader(http.StatusNoContent)
		default:
			refuse(w, http.StatusBadRequest, "InvalidParameterValueException", "Unknown invocation type "+kind)
		}
	})
	return mux
}

func respond(w http.ResponseWriter, ctx context.Context, invoke Invoke, event []byte) {
	answer, err := Call(ctx, invoke, maxRun, event)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amz-Executed-Version", "$LATEST")
	if failure, ok := errors.AsType[*Error](err); ok {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer, _ = json.Marshal(failure) // two strings always marshal
	}
	if len(answer) == 0 {
		answer = []byte("null")
	}
	_, _ = w.Write(answer)
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", kind)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"Type": "User", "Message": message})
}
