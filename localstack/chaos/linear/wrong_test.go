package linear_test

import (
	"math"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// A step of a written history: nothing overlaps, except that an unknown answer ends never.
type step struct {
	call
	reply
}

func history(steps ...step) []porcupine.Operation {
	var h []porcupine.Operation
	for i, s := range steps {
		op := porcupine.Operation{ClientId: i, Input: s.call, Call: int64(2 * i), Output: s.reply, Return: int64(2*i + 1)}
		if s.unknown {
			op.Return = math.MaxInt64
		}
		h = append(h, op)
	}
	return h
}

func did(verb string, user, order int, outcome string) step {
	return step{call{verb, user, order}, reply{outcome: outcome}}
}

func already(user, order, own int) step {
	return step{call{"reserve", user, order}, reply{outcome: "already", own: own}}
}

func lost(verb string, user, order int) step {
	return step{call{verb, user, order}, reply{unknown: true}}
}

// TestModel has, for each outcome, a history that is right and one that must be refused.
func TestModel(t *testing.T) {
	t.Parallel()
	bought := did("reserve", 0, 1, "reserved")
	claimed := did("claim", 0, 1, "claimed")
	gone := did("unclaimed", 0, 1, "released")
	for name, tc := range map[string]struct {
		before []step
		right  step
		wrong  step
	}{
		"reserved":            {nil, bought, did("reserve", 0, 1, "already")},
		"reserved once more":  {[]step{bought}, bought, did("reserve", 0, 1, "sold out")},
		"never one too many":  {[]step{bought, did("reserve", 1, 2, "reserved")}, did("reserve", 2, 3, "sold out"), did("reserve", 2, 3, "reserved")},
		"not sold out yet":    {[]step{bought}, did("reserve", 1, 2, "reserved"), did("reserve", 1, 2, "sold out")},
		"already":             {[]step{bought}, already(0, 2, 1), did("reserve", 0, 2, "reserved")},
		"already names its":   {[]step{bought}, already(0, 3, 1), already(0, 3, 2)},
		"tombstoned":          {[]step{bought, gone}, did("reserve", 0, 1, "tombstoned"), did("reserve", 0, 1, "reserved")},
		"settled leaves none": {[]step{bought, did("settled", 0, 1, "released")}, did("claim", 0, 1, "claimed"), did("claim", 0, 1, "dropped")},
		"claimed":             {[]step{bought}, claimed, did("claim", 0, 1, "superseded")},
		"claimed if lost":     {nil, claimed, did("claim", 0, 1, "dropped")},
		"dropped":             {[]step{bought, gone}, did("claim", 0, 1, "dropped"), claimed},
		"dropped unseen":      {[]step{did("unclaimed", 0, 1, "not held")}, did("claim", 0, 1, "dropped"), claimed},
		"superseded":          {[]step{bought}, did("claim", 0, 2, "superseded"), did("claim", 0, 2, "claimed")},
		"released":            {[]step{bought}, gone, did("unclaimed", 0, 1, "not held")},
		"released by rejects": {[]step{bought, claimed}, did("rejected", 0, 1, "released"), did("rejected", 0, 1, "still claimed")},
		"released is back":    {[]step{bought, did("reserve", 1, 2, "reserved"), gone}, did("reserve", 2, 3, "reserved"), did("reserve", 2, 3, "sold out")},
		"not held":            {[]step{bought}, did("settled", 0, 2, "not held"), did("settled", 0, 2, "released")},
		"not released twice":  {[]step{bought, gone}, did("unclaimed", 0, 1, "not held"), gone},
		"still claimed":       {[]step{bought, claimed}, did("unclaimed", 0, 1, "still claimed"), gone},
		"put back costs one":  {[]step{claimed, did("reserve", 1, 2, "reserved")}, did("reserve", 2, 3, "sold out"), did("reserve", 2, 3, "reserved")},
		"unknown may be one":  {[]step{bought, lost("reserve", 1, 2)}, did("reserve", 2, 3, "sold out"), already(2, 3, 3)},
		"unknown may be none": {[]step{bought, lost("reserve", 1, 2)}, did("reserve", 2, 3, "reserved"), already(2, 3, 2)},
		"unknown is only one": {[]step{lost("reserve", 1, 2)}, bought, did("reserve", 0, 1, "sold out")},
		"unknown came after":  {[]step{lost("reserve", 0, 1), did("unclaimed", 0, 1, "not held")}, did("claim", 0, 1, "dropped"), claimed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !porcupine.CheckOperations(model(2), history(append(slices.Clone(tc.before), tc.right)...)) {
				t.Errorf("%v and then %v: got refused, want accepted", tc.before, tc.right)
			}
			if porcupine.CheckOperations(model(2), history(append(slices.Clone(tc.before), tc.wrong)...)) {
				t.Errorf("%v and then %v: got accepted, want refused", tc.before, tc.wrong)
			}
		})
	}
}
