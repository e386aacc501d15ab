// Package sales holds the demo sale, which the development server starts with and
// which is the example of a sale file.
//
// It promises that [FreshDemo] is a new sale each time, so that a development
// server on servers that keep their data never meets its own past.
package sales

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
)

//go:embed demo.json
var demo []byte

// FreshDemo is the demo's sale file with random ids. They stay below 2^53, which
// JavaScript holds exactly.
func FreshDemo() ([]byte, error) {
	var file map[string]any
	if err := json.Unmarshal(demo, &file); err != nil {
		return nil, fmt.Errorf("sales: demo: %w", err)
	}
	file["id"] = 1 + rand.Int64N(math.MaxUint32)
	items, ok := file["items"].([]any)
	if !ok {
		return nil, fmt.Errorf("sales: demo: no items")
	}
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("sales: demo: an item is no object")
		}
		fields["id"] = 1 + rand.Int64N(1<<53-1)
	}
	return json.MarshalIndent(file, "", "  ")
}
