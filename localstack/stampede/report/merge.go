package report

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Merge makes one report of several parts of one run and judges it anew.
func Merge(parts ...*Report) (*Report, error) {
	if len(parts) == 0 {
		return nil, errors.New("report: nothing to merge")
	}
	first := parts[0]
	r := NewRecorder(Report{
		Way: first.Way, Target: first.Target, Seed: first.Seed, OpensAt: first.OpensAt, Lottery: first.Lottery, Units: first.Units, Habits: first.Habits,
	})
	all := &r.report
	all.Orders.SoldOutLast = true
	for _, p := range parts {
		if err := all.add(p); err != nil {
			return nil, err
		}
	}
	missing, err := missingParts(all.Parts)
	if err != nil {
		return nil, err
	}
	var notes []string
	if len(missing) > 0 {
		notes = []string{"Not all parts are here; missing: " + strings.Join(missing, ", ") + "."}
	}
	return r.Close(all.System, notes...), nil
}

func (r *Report) add(p *Report) error {
	if p.Seed != r.Seed || !p.OpensAt.Equal(r.OpensAt) || p.Units != r.Units || p.Target != r.Target || p.Habits != r.Habits || p.Lottery != r.Lottery {
		return fmt.Errorf("report: part %s is of another run: seed, opening, lottery, units, target and habits must be the same", strings.Join(p.Parts, ", "))
	}
	r.Parts = append(r.Parts, p.Parts...)
	r.Shoppers += p.Shoppers
	addCounts(r.Classes, p.Classes)
	addCounts(r.Answers, p.Answers)
	addCounts(r.Orders.Ends, p.Orders.Ends)
	o, q := &r.Orders, &p.Orders
	o.Told += q.Told
	o.Unopened += q.Unopened
	o.Lost += q.Lost
	o.Foreign += q.Foreign
	o.Double += q.Double
	o.Undone += q.Undone
	o.Early += q.Early
	o.SoldOutLast = o.SoldOutLast && q.SoldOutLast // what one part gave back another must have pressed for
	o.IDs = append(o.IDs, q.IDs...)
	o.AcceptedMs = append(o.AcceptedMs, q.AcceptedMs...)
	o.WrittenMs = append(o.WrittenMs, q.WrittenMs...)
	if p.System != nil { // asked last is known best
		r.System = p.System
	}
	r.Examples = append(r.Examples, p.Examples[:min(len(p.Examples), maxExamples-min(len(r.Examples), maxExamples))]...)
	for _, note := range p.Notes {
		if !slices.Contains(r.Notes, note) {
			r.Notes = append(r.Notes, note)
		}
	}
	for _, kind := range Kinds {
		from, ok := p.Latencies[kind]
		if !ok || from.Corrected == nil || from.Plain == nil {
			return fmt.Errorf("report: part %s has no latencies of %s", strings.Join(p.Parts, ", "), kind)
		}
		if err := errors.Join(r.Latencies[kind].Corrected.add(from.Corrected), r.Latencies[kind].Plain.add(from.Plain)); err != nil {
			return err
		}
	}
	return r.Timeline.merge(&p.Timeline)
}

func addCounts[K comparable](to, from map[K]int) {
	for key, n := range from {
		to[key] += n
	}
}

// missingParts refuses parts that cannot be of one run.
func missingParts(parts []string) ([]string, error) {
	seen := map[int]bool{}
	of := 0
	for _, text := range parts {
		part, parts, err := ParsePart(text)
		switch {
		case err != nil:
			return nil, err
		case of != 0 && parts != of:
			return nil, fmt.Errorf("report: part %s is of another division", text)
		case seen[part]:
			return nil, fmt.Errorf("report: part %s is there twice", text)
		}
		seen[part], of = true, parts
	}
	var missing []string
	for part := range of {
		if !seen[part+1] {
			missing = append(missing, fmt.Sprintf("%d/%d", part+1, of))
		}
	}
	return missing, nil
}

// ParsePart reads a part such as 2/8.
func ParsePart(text string) (part, parts int, err error) {
	left, right, ok := strings.Cut(text, "/")
	part, err = strconv.Atoi(left)
	if err == nil {
		parts, err = strconv.Atoi(right)
	}
	if !ok || err != nil || part < 1 || parts < part || parts > 1000 {
		return 0, 0, fmt.Errorf("%q is no part such as 2/8", text)
	}
	return part, parts, nil
}
