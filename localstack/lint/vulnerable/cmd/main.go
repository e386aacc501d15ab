// Command cmd reads a report of govulncheck on standard input and prints what counts.
// It exits 1 if a dependency is vulnerable, and 2 if the report says nothing.
package main

import (
	"fmt"
	"os"

	"flashsale/localstack/lint/vulnerable"
)

func main() {
	verdict, err := vulnerable.Judge(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, line := range verdict.Go {
		fmt.Println("deploy with a newer Go:", line)
	}
	for _, line := range verdict.Dependencies {
		fmt.Println(line)
	}
	if len(verdict.Dependencies) > 0 {
		os.Exit(1)
	}
}
