package drill

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// An edit is what somebody's hand does to Redis.
type edit []any

// edits damage each key and each field once. Nobody's hand is stopped by what makes sense.
func (s *stage) edits() []edit {
	item := fmt.Sprint(s.sale.Items[0].ID)
	key := s.key
	return []edit{
		{"HSET", key("stock"), item, "many"},
		{"HSET", key("stock"), "shoes", "5"},
		{"HSET", key("holds"), "nobody", "a hold that nobody can read"},
		{"HDEL", key("stock"), item},
		{"ZADD", key("unconfirmed"), 1, "nobody"},
		{"HSET", key("meta"), "version", "no number"},
		{"HSET", key("meta"), "version", "999999999999999"},
		{"HSET", key("meta"), "quota:" + item, "7.5"},
		{"HDEL", key("meta"), "quota:" + item},
		{"HINCRBY", key("meta"), "quota:" + item, -50},
		{"HINCRBY", key("meta"), "settings", 5000},
		{"HSET", key("meta"), "opensAt", "soon"},
		{"HDEL", key("meta"), "closesAt"},
		{"HSET", key("meta"), "paused", "operator"},
		{"HSET", key("meta"), "doubt:" + item, "1"},
		{"HSET", key("meta"), "loaded", "yes"},
		{"HSET", key("meta"), "colour", "red"},
		{"DEL", key("released")},
		{"SET", key("released"), "x"},
		{"SET", key("unconfirmed"), "x"},
		{"SET", key("holds"), "x"},
		{"SET", key("stock"), "x"},
		{"SET", key("meta"), "x"},
		{"DEL", "catalog"},
		{"SET", "catalog", "x"},
		{"SET", "catalog", "{}"},
		{"DEL", "catalog"},
		{"HSET", "catalog", "x", "y"},
	}
}

func editDrill() Drill {
	return Drill{Name: "edited", Fault: "every key and field edited by hand, one after the other", explains: deleted, strike: func(ctx context.Context, s *stage) error {
		for _, e := range s.edits() {
			do := func() error { return s.rdb.Do(ctx, e...).Err() }
			if e[0] == "SET" && e[1] == s.key("holds") {
				do = func() error { return s.loses(ctx, e...) }
			}
			// Where an earlier edit has left another type, Redis refuses, which is as good.
			if err := do(); err != nil && !strings.HasPrefix(err.Error(), "WRONGTYPE ") && !strings.HasPrefix(err.Error(), "ERR ") {
				return fmt.Errorf("%v: %w", e, err)
			}
			if err := sleep(ctx, 250*time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	}}
}
