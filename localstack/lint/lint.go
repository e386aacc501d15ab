// Package lint checks the rules of this repository that no common linter knows: which package may
// import which, how long a file may be, who may read the environment, what lies on top, and whether
// the tests that the documents name exist.
//
// It promises that each rule is looked at by parsing, not by searching text, so that a comment or
// a string never counts. Findings read "path: what is wrong" and come in a stable order.
package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const (
	maxLines     = 300
	maxMainLines = 50
)

// counted are the kinds of files whose length is limited. Data and prose may be long.
var counted = []string{".go", ".lua", ".sql", ".sh", ".js"}

// topLevel is all that may lie on top, besides dot-files and what git does not keep.
var topLevel = []string{
	"functions", "shared", "lua", "migrations", "localstack", "web", "docs",
	"template.yaml", "samconfig.toml", "go.mod", "go.sum", "Makefile", "README.md", "LICENSE",
	"build",
}

// vague are package names that say nothing about the business or the wire.
var vague = []string{"utils", "common", "models", "types", "helpers", "service", "manager"}

// Check returns what is wrong in the repository whose root is tree.
// The error is about reading it, not about the rules.
func Check(tree fs.FS) ([]string, error) {
	var findings []string
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".") || name == "build" || entry.Name() == "node_modules" {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		for _, problem := range checkEntry(name, entry) {
			findings = append(findings, name+": "+problem)
		}
		if entry.IsDir() {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		for _, problem := range checkFile(name, text) {
			findings = append(findings, name+": "+problem)
		}
		return nil
	})
	return findings, err
}

func checkEntry(name string, entry fs.DirEntry) (problems []string) {
	if !strings.Contains(name, "/") && !slices.Contains(topLevel, name) {
		problems = append(problems, "does not belong on top; see docs/architecture.md")
	}
	if entry.IsDir() && slices.Contains(vague, entry.Name()) {
		problems = append(problems, "a package is named for the business or the wire")
	}
	return problems
}

func checkFile(name string, text []byte) (problems []string) {
	lines := bytes.Count(text, []byte("\n"))
	if slices.Contains(counted, path.Ext(name)) && lines >= maxLines {
		problems = append(problems, fmt.Sprintf("%d lines, fewer than %d are allowed", lines, maxLines))
	}
	if isLambdaMain(name) && lines >= maxMainLines {
		problems = append(problems, fmt.Sprintf("%d lines of wiring, fewer than %d are allowed", lines, maxMainLines))
	}
	if path.Ext(name) != ".go" {
		return problems
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return append(problems, "does not parse: "+err.Error())
	}
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		if reason := forbiddenImport(name, imported); reason != "" {
			problems = append(problems, "imports "+imported+": "+reason)
		}
	}
	if !mayReadEnvironment(name) && readsEnvironment(file) {
		problems = append(problems, "reads the environment; only shared/config may")
	}
	if strings.HasPrefix(name, "functions/") && hasInit(file) {
		problems = append(problems, "has an init function; wire in run")
	}
	return problems
}

func isLambdaMain(name string) bool {
	matched, _ := path.Match("functions/*/lambda/main.go", name)
	return matched
}

func mayReadEnvironment(name string) bool {
	return strings.HasPrefix(name, "shared/config/") || strings.HasPrefix(name, "localstack/") ||
		strings.HasSuffix(name, "_test.go")
}

// readsEnvironment looks for a call through package os, under whatever name it was imported.
func readsEnvironment(file *ast.File) (found bool) {
	name := ""
	for _, spec := range file.Imports {
		if spec.Path.Value == `"os"` {
			name = "os"
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	if name == "" {
		return false
	}
	ast.Inspect(file, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		on, ok := selector.X.(*ast.Ident)
		if ok && on.Name == name && slices.Contains([]string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}, selector.Sel.Name) {
			found = true
		}
		return true
	})
	return found
}

func hasInit(file *ast.File) bool {
	return slices.ContainsFunc(file.Decls, func(decl ast.Decl) bool {
		f, ok := decl.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "init"
	})
}
