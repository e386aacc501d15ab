// Package remote calls the functions of a deployed stack by Lambda's own Invoke call.
//
// It promises that a function's failure and an operator's refusal are errors, so that whoever
// prepares a sale by them never goes on without one.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// invokeTime is more than any function may take.
const invokeTime = 5 * time.Minute

// A Lambda is the Invoke call of a deployed stack.
type Lambda struct {
	Endpoint string // LocalStack's address
	Stack    string // the functions are <stack>-<folder>
}

// Invoke calls a function, named by its folder, and waits. A function's own failure is an error.
func (l Lambda) Invoke(ctx context.Context, function string, event []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, invokeTime)
	defer cancel()
	address := fmt.Sprintf("%s/2015-03-31/functions/%s-%s/invocations", l.Endpoint, l.Stack, function)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(event))
	if err != nil {
		return nil, fmt.Errorf("invoke %s: %w", function, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("invoke %s: %w", function, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("invoke %s: %w", function, err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("X-Amz-Function-Error") != "" {
		return nil, fmt.Errorf("invoke %s: status %d: %s", function, response.StatusCode, answer)
	}
	return answer, nil
}

// Administer is an operator's action; a refusal is an error. It returns the sale's id.
func (l Lambda) Administer(ctx context.Context, request map[string]any) (int64, error) {
	event, err := json.Marshal(request)
	if err != nil {
		return 0, fmt.Errorf("saleadmin: %w", err)
	}
	text, err := l.Invoke(ctx, "saleadmin", event)
	if err != nil {
		return 0, err
	}
	var answer struct {
		SaleID int64  `json:"saleId"`
		Error  string `json:"error"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, fmt.Errorf("saleadmin: %w", err)
	}
	if answer.Error != "" {
		return 0, fmt.Errorf("saleadmin: %s: %s", request["action"], text)
	}
	return answer.SaleID, nil
}
