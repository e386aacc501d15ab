// Command told reads what `go test -json` writes and prints what a person wants to know: each
// package's verdict, all that a failed test said, and every test that was left out, with its reason.
// `go test` keeps quiet of what a passing package left out.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := tell(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "told:", err)
		os.Exit(1)
	}
}

// An event is one line of `go test -json`; see `go doc test2json`.
type event struct{ Action, Package, Test, Output string }

// A test is named by its package; "" is the package itself.
type test struct{ pkg, name string }

func tell(in io.Reader, out io.Writer) error {
	said := map[test]string{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			_, _ = fmt.Fprintln(out, lines.Text()) // of the go command itself
			continue
		}
		t := test{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			_, _ = fmt.Fprint(out, e.Output)
		case "output":
			if !strings.HasPrefix(e.Output, "=== ") {
				said[t] += e.Output
			}
		case "pass", "fail", "skip":
			text := said[t]
			delete(said, t)
			if t.name == "" {
				text = verdict(said, t, e.Action == "fail", text)
			} else if e.Action == "pass" {
				text = ""
			} else if e.Action == "skip" {
				text = "left out: " + e.Package + " " + e.Test + "\n" + text
			}
			_, _ = fmt.Fprint(out, text)
		}
	}
	return lines.Err()
}

// verdict is what a package has to say when it is over: after a failure all, and what its tests said
// that did not come to an end; else one line.
func verdict(said map[test]string, pkg test, failed bool, text string) string {
	var unfinished []string
	for t, more := range said {
		if t.pkg == pkg.pkg {
			unfinished = append(unfinished, more)
			delete(said, t)
		}
	}
	if failed {
		slices.Sort(unfinished)
		return strings.Join(unfinished, "") + text
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ok ") {
			return line
		}
	}
	return ""
}
