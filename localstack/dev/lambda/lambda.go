// Package lambda calls functions as AWS Lambda does.
//
// It promises that whatever a function does, its caller gets an answer: a panic and
// a missed deadline become an [*Error]. [Handler] is Lambda's own Invoke call over
// HTTP, so that the AWS command line works with `--endpoint-url`.
package lambda

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"reflect"
	"time"
)

// Invoke is a function's handler: event in, answer out.
type Invoke = func(ctx context.Context, event []byte) ([]byte, error)

// TimedOut is the type of the error of a function that took too long.
const TimedOut = "Sandbox.Timedout"

// An Error is how Lambda shows a function's failure.
type Error struct {
	Message string `json:"errorMessage"`
	Type    string `json:"errorType"`
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Call runs a function for at most the given time. The caller's cancellation does
// not reach it, as a shopper who hangs up does not stop a deployed function. One
// that overruns its time is left behind with its context done.
func Call(ctx context.Context, invoke Invoke, timeout time.Duration, event []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1)
	start(func() {
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				done <- result{err: &Error{Message: fmt.Sprint(p), Type: typeName(p)}}
			}
		}()
		answer, err := invoke(ctx, event)
		if err != nil {
			err = &Error{Message: err.Error(), Type: typeName(err)}
		}
		done <- result{answer, err}
	})
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
	}
	// The function may have finished in the same instant.
	select {
	case r := <-done:
		return r.answer, r.err
	default:
		return nil, &Error{Message: fmt.Sprintf("Task timed out after %.2f seconds", timeout.Seconds()), Type: TimedOut}
	}
}

// idle takes calls for goroutines that have made one before: their stacks have grown
// already, and a new one's would be copied several times on the way down.
var idle = make(chan func())

// start runs a call beside its caller.
func start(call func()) {
	select {
	case idle <- call:
	default:
		go work(call)
	}
}

// work ends when nothing was to do for a while.
func work(call func()) {
	over := time.NewTimer(time.Hour)
	defer over.Stop()
	for {
		call()
		over.Reset(time.Second)
		select {
		case call = <-idle:
		case <-over.C:
			return
		}
	}
}

// typeName is what aws-lambda-go calls an error: its Go type without the package.
func typeName(v any) string {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// RequestID makes a request's id, a random UUID.
func RequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	b[6], b[8] = b[6]&0x0f|4<<4, b[8]&0x3f|2<<6
	var text [36]byte
	hex.Encode(text[:8], b[:4])
	hex.Encode(text[9:13], b[4:6])
	hex.Encode(text[14:18], b[6:8])
	hex.Encode(text[19:23], b[8:10])
	hex.Encode(text[24:], b[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
