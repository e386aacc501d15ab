package vulnerable_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"flashsale/localstack/lint/vulnerable"
)

const head = `{"config":{"db":"file:///db"}} {"SBOM":{"modules":[{"path":"flashsale"}],"roots":["flashsale/functions/purchase/lambda"]}} `

func finding(id, module, function string) string {
	return fmt.Sprintf(`{"finding":{"osv":%q,"fixed_version":"v1.2.4","trace":[{"module":%q,"version":"v1.2.3","function":%q},{"module":"flashsale"}]}}`, id, module, function)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const wrong, newer = "GO-1: example.com/x@v1.2.3, mended in v1.2.4", "GO-2: Go v1.2.3, mended in v1.2.4"
	for name, test := range map[string]struct {
		report       string
		dependencies []string
		golang       []string
		fails        bool
	}{
		"clean":          {report: head},
		"called, twice":  {report: head + finding("GO-1", "example.com/x", "F") + finding("GO-1", "example.com/x", "G"), dependencies: []string{wrong}},
		"never called":   {report: head + finding("GO-1", "example.com/x", "")},
		"Go itself":      {report: head + finding("GO-2", "stdlib", "F"), golang: []string{newer}},
		"both":           {report: head + finding("GO-2", "stdlib", "F") + finding("GO-1", "example.com/x", "F"), dependencies: []string{wrong}, golang: []string{newer}},
		"nothing":        {fails: true},
		"no database":    {report: strings.Replace(head, "file:///db", "", 1), fails: true},
		"nothing to see": {report: strings.Replace(head, `"flashsale/functions/purchase/lambda"`, "", 1), fails: true},
		"cut off":        {report: head + `{"finding":`, fails: true},
		"not JSON":       {report: "govulncheck: no Go files", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := vulnerable.Judge(strings.NewReader(test.report))
			if (err != nil) != test.fails || !slices.Equal(v.Dependencies, test.dependencies) || !slices.Equal(v.Go, test.golang) {
				t.Errorf("got %+v, %v, want %q, %q, failure %v", v, err, test.dependencies, test.golang, test.fails)
			}
		})
	}
}
