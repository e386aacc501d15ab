package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Check says what is wrong with an answer to a call; nil: nothing. path is as it was
// sent, from /api on. An address that is not described must be answered 404
// NOT_FOUND, a method that is not, 405 with the described ones in Allow.
func (d *Description) Check(method, path string, status int, header http.Header, body []byte) error {
	err := d.check(method, path, status, header, body)
	if err != nil {
		err = fmt.Errorf("openapi: %s %s is answered %d %.300q: %w", method, path, status, body, err)
	}
	return err
}

func (d *Description) check(method, path string, status int, header http.Header, body []byte) error {
	name, item := d.find(path)
	if item == nil {
		return d.refuses("NotFound", http.StatusNotFound, method, status, body)
	}
	operation := item.GetOperation(described(method))
	if operation == nil {
		if err := sameMethods(item, header.Get("Allow")); err != nil {
			return err
		}
		return d.refuses("MethodNotAllowed", http.StatusMethodNotAllowed, method, status, body)
	}
	if answer := operation.Responses.Status(status); answer != nil && len(answer.Value.Content) == 0 && len(body) > 0 {
		return errors.New("a body where none is described")
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: &http.Request{Method: method, URL: &url.URL{}},
			Route:   &routers.Route{Spec: d.spec, Path: name, PathItem: item, Method: method, Operation: operation},
		},
		Status: status, Header: header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	return openapi3filter.ValidateResponse(context.Background(), input.SetBodyBytes(body))
}

// find splits before it decodes, as API Gateway does.
func (d *Description) find(path string) (string, *openapi3.PathItem) {
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	for _, name := range d.paths {
		if fits(strings.Split(name, "/"), segments) {
			return name, d.spec.Paths.Value(name)
		}
	}
	return "", nil
}

func fits(pattern, segments []string) bool {
	return slices.EqualFunc(pattern, segments, func(want, got string) bool {
		if !strings.HasPrefix(want, "{") {
			return want == got
		}
		value, err := url.PathUnescape(got)
		return err == nil && value != ""
	})
}

// described is a method that a path item can name; others panic in GetOperation.
func described(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return method
	}
	return http.MethodTrace // which we describe nowhere
}

// refuses wants a refusal of the gateway itself. HEAD has no body.
func (d *Description) refuses(schema string, want int, method string, status int, body []byte) error {
	if status != want {
		return fmt.Errorf("want %d", want)
	}
	if method == http.MethodHead {
		return nil
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	return d.spec.Components.Schemas[schema].Value.VisitJSON(value)
}

func sameMethods(item *openapi3.PathItem, allow string) error {
	var want []string
	for method := range item.Operations() {
		want = append(want, method)
	}
	got := strings.Split(allow, ", ")
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("allow lists %q, want %q", got, want)
	}
	return nil
}
