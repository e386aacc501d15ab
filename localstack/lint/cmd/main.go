// Command cmd checks the repository in the current folder by the rules of package lint.
// It prints one line per finding and exits 1 if there is any.
package main

import (
	"errors"
	"fmt"
	"os"

	"flashsale/localstack/lint"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(1)
	}
}

func run() error {
	tree := os.DirFS(".")
	findings, err := lint.Check(tree)
	if err != nil {
		return err
	}
	more, err := lint.CheckCommands(tree)
	if err != nil {
		return err
	}
	findings = append(findings, more...)
	for _, finding := range findings {
		fmt.Println(finding)
	}
	if len(findings) > 0 {
		return errors.New("the rules above are broken")
	}
	return nil
}
