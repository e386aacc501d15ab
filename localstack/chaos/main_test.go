package main_test

import (
	"errors"
	"flag"
	"io"
	"testing"

	chaos "flashsale/localstack/chaos"
	"flashsale/localstack/chaos/drill"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	held, broke := drill.Row{Name: "held"}, drill.Row{Name: "broke", Broken: []string{"lost: 1"}}
	undone := errors.New("no servers")
	for name, test := range map[string]struct {
		rows []drill.Row
		err  error
		want int
	}{
		"all held":                          {[]drill.Row{held, held}, nil, 0},
		"nothing asked for":                 {nil, flag.ErrHelp, 0},
		"a promise broke":                   {[]drill.Row{held, broke, held}, nil, 1},
		"one broke, another was not done":   {[]drill.Row{broke}, undone, 1},
		"one held, another was not done":    {[]drill.Row{held}, undone, 2},
		"the drill that there was not done": {nil, undone, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := chaos.Status(chaos.Judged(test.rows, test.err)); got != test.want {
				t.Errorf("status: got %d, want %d", got, test.want)
			}
		})
	}
}

func TestUnknownDrill(t *testing.T) {
	t.Parallel()
	if got := chaos.Status(chaos.Run(t.Context(), []string{"-fault", "calm,clam"}, io.Discard)); got != 2 {
		t.Errorf("status: got %d, want 2", got)
	}
}
