// Package vulnerable judges what govulncheck found in the deployed programs.
//
// It promises that a report which is cut off, or of a run that scanned nothing, is an
// error and never a clean one. Only vulnerable code that can be reached counts. What a
// newer dependency mends breaks the check; what only a newer Go mends cannot be mended
// in this repository, so it is told apart, for whoever installs Go.
package vulnerable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A Verdict lists each vulnerability once, with what mends it.
type Verdict struct {
	Dependencies []string
	Go           []string
}

// message is one of govulncheck's JSON stream; only what is needed here.
type message struct {
	Config *struct {
		DB string `json:"db"`
	} `json:"config"`
	SBOM *struct {
		Modules []json.RawMessage `json:"modules"`
		Roots   []string          `json:"roots"`
	} `json:"SBOM"`
	Finding *struct {
		OSV          string `json:"osv"`
		FixedVersion string `json:"fixed_version"`
		Trace        []struct {
			Module   string `json:"module"`
			Version  string `json:"version"`
			Function string `json:"function"`
		} `json:"trace"`
	} `json:"finding"`
}

// Judge reads a report as `govulncheck -format json` writes it.
func Judge(report io.Reader) (Verdict, error) {
	var v Verdict
	var db string
	var scanned int
	for decoder := json.NewDecoder(report); ; {
		var m message
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Verdict{}, fmt.Errorf("vulnerable: report: %w", err)
		}
		if m.Config != nil {
			db = m.Config.DB
		}
		if m.SBOM != nil {
			scanned = min(len(m.SBOM.Modules), len(m.SBOM.Roots))
		}
		if f := m.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Function != "" {
			at := f.Trace[0]
			if at.Module == "stdlib" {
				v.Go = append(v.Go, fmt.Sprintf("%s: Go %s, mended in %s", f.OSV, at.Version, f.FixedVersion))
			} else {
				v.Dependencies = append(v.Dependencies, fmt.Sprintf("%s: %s@%s, mended in %s", f.OSV, at.Module, at.Version, f.FixedVersion))
			}
		}
	}
	if db == "" || scanned == 0 {
		return Verdict{}, errors.New("vulnerable: the report is of a run that scanned nothing")
	}
	slices.Sort(v.Go)
	slices.Sort(v.Dependencies)
	v.Go, v.Dependencies = slices.Compact(v.Go), slices.Compact(v.Dependencies)
	return v, nil
}
