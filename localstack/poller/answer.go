package poller

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// parseAnswer reads batchItemFailures as Lambda does: nothing, null and an
// empty list mean that all is done; an answer that is not JSON, or that names a
// record which is not in the event, fails the whole batch. Of several failures
// in a partition the first counts.
func parseAnswer(text []byte, batch map[partition]chunk) (map[partition]int64, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == `""` {
		return nil, nil
	}
	var answer struct {
		Failures []struct {
			Item *struct {
				Partition string `json:"partition"`
				Offset    *int64 `json:"offset"`
			} `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	places := make(map[string]partition, len(batch))
	for place := range batch {
		places[fmt.Sprintf("%s-%d", place.topic, place.number)] = place
	}
	failed := make(map[partition]int64)
	for _, f := range answer.Failures {
		if f.Item == nil || f.Item.Offset == nil {
			return nil, fmt.Errorf("answer: a failure names no record")
		}
		place, known := places[f.Item.Partition]
		offset := *f.Item.Offset
		if !known || !batch[place].has(offset) {
			return nil, fmt.Errorf("answer: record %s/%d is not in the event", strings.ToValidUTF8(f.Item.Partition, "?"), offset)
		}
		if from, again := failed[place]; !again || offset < from {
			failed[place] = offset
		}
	}
	return failed, nil
}

// has tells whether the chunk holds that offset.
func (c chunk) has(offset int64) bool {
	for _, r := range c.records {
		if r.Offset == offset {
			return true
		}
	}
	return false
}
