package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingOfDevelopmentIsDeployed asks Go itself what is linked into the functions'
// programs: none of it may come from the development server, or answer its calls.
func TestNothingOfDevelopmentIsDeployed(t *testing.T) {
	t.Parallel()
	mains, err := filepath.Glob("../../functions/*/lambda")
	if err != nil || len(mains) == 0 {
		t.Fatalf("functions: got %v, %v", mains, err)
	}
	command := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-tags", "lambda.norpc", "-f", "{{.ImportPath}} {{.Dir}}"}, mains...)...)
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	ours := 0
	for line := range strings.Lines(string(output)) {
		name, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(name, "flashsale/") {
			continue
		}
		ours++
		if strings.HasPrefix(name, "flashsale/localstack") || strings.HasPrefix(name, "flashsale/web") {
			t.Errorf("%s is linked into a deployed program", name)
		}
		for _, text := range texts(t, folder) {
			if strings.Contains(text, "/dev/") || strings.Contains(text, "development-only") {
				t.Errorf("%s speaks of %s", name, text)
			}
		}
	}
	if ours < 2*len(mains) {
		t.Errorf("go list named %d packages of ours, want the functions at least", ours)
	}
}

// texts are the string literals of a package without its tests.
func texts(t *testing.T, folder string) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				texts = append(texts, literal.Value)
			}
			return true
		})
	}
	return texts
}
