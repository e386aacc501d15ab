package config_test

import (
	"strings"
	"testing"
	"time"

	"flashsale/shared/config"
)

func TestAdmission(t *testing.T) {
	type part struct {
		config.Admission
		config.Limits
	}
	load := func(t *testing.T, keys, lottery, limit string) (part, error) {
		t.Helper()
		t.Setenv("ADMISSION_KEYS", keys)
		t.Setenv("ADMISSION_LOTTERY", lottery)
		t.Setenv("PURCHASE_LIMIT", limit)
		return config.Load[part]()
	}
	const one, two, lottery = "2026-12:0123456789abcdef", "a_b:colons: are no matter", "0123456789abcdef"
	got, err := load(t, "", "", "")
	if err != nil || len(got.PassKeys) != 0 || got.Purchases != (config.Rate{Calls: 20, Window: 10 * time.Second}) {
		t.Errorf("nothing set: got %+v, %v", got, err)
	}
	if got, err = load(t, one+","+two, lottery, "3/1m"); err != nil || got.Purchases != (config.Rate{Calls: 3, Window: time.Minute}) {
		t.Errorf("all set: got %+v, %v", got, err)
	}
	keys, err := got.Keys()
	if err != nil || len(keys) != 2 || keys[0].ID != "2026-12" || string(keys[1].Secret) != "colons: are no matter" {
		t.Errorf("keys: got %q, %v", keys, err)
	}
	for name, c := range map[string]struct{ keys, lottery, limit, want string }{
		"no id":            {"0123456789abcdef", lottery, "", "ADMISSION_KEYS is malformed: key 1"},
		"empty id":         {":0123456789abcdef", lottery, "", "ADMISSION_KEYS is malformed: key 1"},
		"a point in an id": {one + ",a.b:0123456789abcdef", lottery, "", "ADMISSION_KEYS is malformed: key 2"},
		"a short secret":   {"a:0123456789abcde", lottery, "", "ADMISSION_KEYS is malformed: key 1"},
		"a gap":            {one + ",," + two, lottery, "", "ADMISSION_KEYS is malformed: key 2"},
		"one id twice":     {one + "," + one, lottery, "", "key 2 has the id of another"},
		"no lottery":       {one, "", "", "ADMISSION_LOTTERY is missing"},
		"no keys":          {"", lottery, "", "ADMISSION_KEYS is missing"},
		"a short lottery":  {one, "0123456789abcde", "", "ADMISSION_LOTTERY is malformed"},
		"no window":        {"", "", "20", "PURCHASE_LIMIT is malformed"},
		"no calls":         {"", "", "0/10s", "PURCHASE_LIMIT is malformed"},
		"too many calls":   {"", "", "101/10s", "PURCHASE_LIMIT is malformed"},
		"a short window":   {"", "", "20/999ms", "PURCHASE_LIMIT is malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.keys, c.lottery, c.limit)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "456789") {
				t.Errorf("got %v, want %q and no secret", err, c.want)
			}
		})
	}
}
