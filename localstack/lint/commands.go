package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// goTest is a command such as go test -run 'TestPay|TestCancel' ./shared/order, in prose.
var goTest = regexp.MustCompile("go test [^`\n]*")

// CheckCommands returns what is wrong with the `go test` commands that the documents
// name: each must name a package of this repository, and its -run must match a test of
// each of its alternatives, so that no claim points at a test that was renamed.
func CheckCommands(tree fs.FS) ([]string, error) {
	var findings []string
	documents, err := fs.Glob(tree, "docs/*.md")
	if err != nil {
		return nil, err
	}
	for _, name := range append(documents, "README.md") {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		for _, command := range goTest.FindAllString(string(text), -1) {
			for _, problem := range checkCommand(tree, strings.TrimRight(command, " )")) {
				findings = append(findings, name+": "+command+": "+problem)
			}
		}
	}
	return findings, nil
}

func checkCommand(tree fs.FS, command string) (problems []string) {
	var folders []string
	run := ""
	words := strings.Fields(command)
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, "./"):
			folders = append(folders, path.Clean(word))
		case i > 0 && words[i-1] == "-run":
			run = strings.Trim(word, `'"`)
		}
	}
	if len(folders) == 0 {
		return []string{"names no package"}
	}
	for _, folder := range folders {
		if strings.HasSuffix(folder, "...") {
			continue
		}
		tests, err := testsOf(tree, folder)
		if err != nil || len(tests) == 0 {
			problems = append(problems, folder+" has no tests")
			continue
		}
		for alternative := range strings.SplitSeq(run, "|") {
			if alternative == "^$" {
				continue // benchmarks only
			}
			top, _, _ := strings.Cut(alternative, "/")
			pattern, err := regexp.Compile(top)
			if err != nil || !matchesAny(pattern, tests) {
				problems = append(problems, fmt.Sprintf("%s has no test %s", folder, top))
			}
		}
	}
	return problems
}

func matchesAny(pattern *regexp.Regexp, names []string) bool {
	for _, name := range names {
		if pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// testsOf lists what -run could start in a folder: tests, and fuzz targets with their seeds.
func testsOf(tree fs.FS, folder string) (names []string, err error) {
	files, err := fs.Glob(tree, folder+"/*_test.go")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) && f.Name.Name != "TestMain" {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names, nil
}
