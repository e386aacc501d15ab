package gateway

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
)

// An answer is that of a proxy integration's function, read. Nobody may change it.
type answer struct {
	text    string // as the function gave it
	status  int
	headers http.Header
	body    []byte
}

func readAnswer(text []byte) (*answer, error) {
	var r struct {
		StatusCode        int                 `json:"statusCode"`
		Headers           map[string]string   `json:"headers"`
		MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
		Body              string              `json:"body"`
		IsBase64Encoded   bool                `json:"isBase64Encoded"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, errors.New("gateway: the function's answer is not a proxy response")
	}
	if r.StatusCode < 200 || r.StatusCode > 599 {
		return nil, errors.New("gateway: the function's answer has no valid statusCode")
	}
	a := &answer{string(text), r.StatusCode, make(http.Header, len(r.Headers)+len(r.MultiValueHeaders)), []byte(r.Body)}
	if r.IsBase64Encoded {
		var err error
		if a.body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			return nil, errors.New("gateway: the function's body is not the base64 it claims to be")
		}
	}
	for name, value := range r.Headers {
		a.headers.Set(name, value)
	}
	for name, values := range r.MultiValueHeaders {
		a.headers.Del(name) // as API Gateway merges: the multi-value form wins
		for _, value := range values {
			a.headers.Add(name, value)
		}
	}
	return a, nil
}
