package lint_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"flashsale/localstack/lint"
)

func TestCheckCommands(t *testing.T) {
	t.Parallel()
	const tests = "package order_test\n\nfunc TestPay(t *testing.T) {}\n\nfunc FuzzBody(f *testing.F) {}\n\nfunc TestMain(m *testing.M) {}\n"
	for name, test := range map[string]struct {
		document, want string // part of the one finding; "" is none
	}{
		"a test":          {"`go test -run TestPay ./shared/order`", ""},
		"package first":   {"`go test ./shared/order -run 'TestPay|FuzzBody'`", ""},
		"a subtest":       {"`go test -run 'TestPay/late payment' ./shared/order`", ""},
		"a part":          {"| x | `go test -run Pay ./shared/order` |", ""},
		"benchmarks":      {"`go test -run '^$' -bench . ./shared/order`", ""},
		"all":             {"    go test ./shared/order\n", ""},
		"renamed":         {"`go test -run TestPaid ./shared/order`", "no test TestPaid"},
		"one renamed":     {"`go test -run 'TestPay|TestPaid' ./shared/order`", "no test TestPaid"},
		"only its main":   {"`go test -run TestMain ./shared/order`", "no test TestMain"},
		"moved":           {"`go test -run TestPay ./shared/pay`", "has no tests"},
		"without package": {"`go test -run TestPay`", "names no package"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findings, err := lint.CheckCommands(fstest.MapFS{
				"docs/faults.md": {Data: []byte(test.document)}, "README.md": {}, "shared/order/pay_test.go": {Data: []byte(tests)},
			})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case test.want == "" && len(findings) > 0:
				t.Errorf("got %q, want none", findings)
			case test.want != "" && (len(findings) != 1 || !strings.Contains(findings[0], test.want)):
				t.Errorf("got %q, want one with %q", findings, test.want)
			}
		})
	}
}

// TestDocumentedCommands holds our own documents to it, where no linter runs too.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	findings, err := lint.CheckCommands(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range findings {
		t.Error(finding)
	}
}
