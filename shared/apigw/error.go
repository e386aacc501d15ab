package apigw

import (
	"errors"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// A Code names a refusal to the caller.
type Code string

// All codes that a caller can meet.
const (
	AlreadyPurchased    Code = "ALREADY_PURCHASED"
	SoldOut             Code = "SOLD_OUT"
	SaleClosed          Code = "SALE_CLOSED"
	SaleNotOpen         Code = "SALE_NOT_OPEN"
	AdmissionRequired   Code = "ADMISSION_REQUIRED"
	UnknownItem         Code = "UNKNOWN_ITEM"
	Unauthenticated     Code = "UNAUTHENTICATED"
	TooManyRequests     Code = "TOO_MANY_REQUESTS"
	TryAgain            Code = "TRY_AGAIN"
	UnknownOrder        Code = "UNKNOWN_ORDER"
	OrderNotCancellable Code = "ORDER_NOT_CANCELLABLE"
	NoOrder             Code = "NO_ORDER"
	UnknownSale         Code = "UNKNOWN_SALE"
	BadRequest          Code = "BAD_REQUEST"
	NotFound            Code = "NOT_FOUND"
	MethodNotAllowed    Code = "METHOD_NOT_ALLOWED"
	Internal            Code = "INTERNAL"
)

// statuses is the one map from code to status.
var statuses = map[Code]int{
	AlreadyPurchased:    http.StatusConflict,
	SoldOut:             http.StatusGone,
	SaleClosed:          http.StatusGone,
	SaleNotOpen:         http.StatusForbidden,
	AdmissionRequired:   http.StatusForbidden,
	UnknownItem:         http.StatusNotFound,
	Unauthenticated:     http.StatusUnauthorized,
	TooManyRequests:     http.StatusTooManyRequests,
	TryAgain:            http.StatusServiceUnavailable,
	UnknownOrder:        http.StatusNotFound,
	OrderNotCancellable: http.StatusConflict,
	NoOrder:             http.StatusNotFound,
	UnknownSale:         http.StatusNotFound,
	BadRequest:          http.StatusBadRequest,
	NotFound:            http.StatusNotFound,
	MethodNotAllowed:    http.StatusMethodNotAllowed,
	Internal:            http.StatusInternalServerError,
}

// Status is the code's HTTP status; 500 for a code that is not in the list.
func (c Code) Status() int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// An Error is an answer that refuses. Everything but Cause is shown to the caller.
type Error struct {
	Code       Code
	Message    string         // plain words for people
	Fields     map[string]any // orderId, opensAt, notBefore: beside error and message
	RetryAfter time.Duration  // sent in whole seconds, rounded up; 0 sends nothing
	Allow      string         // of a 405: the methods that are possible
	Cause      error          // for the log only
}

// Refuse makes an Error of a code and a message.
func Refuse(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Unauthorized is the 401 of every call; the cause stays in the log.
func Unauthorized(cause error) *Error {
	return &Error{Code: Unauthenticated, Message: "Please sign in again.", Cause: cause}
}

// Busy is the 503 that asks to come back; cause may be nil.
func Busy(after time.Duration, cause error) *Error {
	return &Error{Code: TryAgain, Message: "Please try again in a moment.", RetryAfter: after, Cause: cause}
}

func (e *Error) Error() string {
	text := "apigw: " + string(e.Code) + ": " + e.Message
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Cause }

// response is the Error as the caller sees it.
func (e *Error) response() Response {
	r := Response{Status: e.Code.Status(), Body: e.body()}
	header := func(name, value string) {
		if r.Headers == nil {
			r.Headers = make(map[string]string)
		}
		r.Headers[name] = value
	}
	if e.Code == Unauthenticated {
		header("WWW-Authenticate", "Bearer")
	}
	if e.Allow != "" {
		header("Allow", e.Allow)
	}
	if e.RetryAfter > 0 {
		seconds := (e.RetryAfter + time.Second - 1) / time.Second
		header("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	return r
}

func (e *Error) body() any {
	if len(e.Fields) == 0 {
		text := appendString([]byte(`{"error":`), string(e.Code))
		return append(appendString(append(text, `,"message":`...), e.Message), '}')
	}
	fields := maps.Clone(e.Fields)
	fields["error"], fields["message"] = e.Code, e.Message
	return fields
}

// asError finds the Error in err, or makes the 500 that hides it.
func asError(err error, requestID string) *Error {
	if refusal, ok := errors.AsType[*Error](err); ok && refusal.Code != Internal {
		return refusal
	}
	return &Error{
		Code:    Internal,
		Message: "Something went wrong. Please tell us the request id.",
		Fields:  map[string]any{"requestId": requestID},
		Cause:   err,
	}
}
