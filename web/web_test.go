package web_test

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"flashsale/web"
)

// TestSize keeps the page light: all of it, uncompressed.
func TestSize(t *testing.T) {
	t.Parallel()
	const limit = 50_000
	sum := 0
	for name, text := range files(t) {
		sum += len(text)
		if !strings.Contains(".html .js .css .svg", path.Ext(name)) {
			t.Errorf("%s is served, want only the page's own kinds", name)
		}
	}
	if sum == 0 || sum >= limit {
		t.Errorf("the page has %d bytes, want fewer than %d", sum, limit)
	}
}

// TestNothingInline finds what the policy would forbid.
func TestNothingInline(t *testing.T) {
	t.Parallel()
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son\w+=|<script(?:[^>]*)>[^<]|javascript:|innerHTML|\beval\(`)
	for name, text := range files(t) {
		if found := inline.FindString(text); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}

// TestImports has every module there that another one asks for.
func TestImports(t *testing.T) {
	t.Parallel()
	all := files(t)
	imports, count := regexp.MustCompile(`from "\./([^"]+)"`), 0
	for name, text := range all {
		for _, found := range imports.FindAllStringSubmatch(text, -1) {
			count++
			if _, ok := all[found[1]]; !ok {
				t.Errorf("%s imports %s, which is not there", name, found[1])
			}
		}
	}
	if count == 0 {
		t.Error("no imports found")
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	got := web.Policy("https://api.example.com", "https://id.example.com")
	for _, want := range []string{"default-src 'none'; ", "script-src 'self'; ", "connect-src 'self' https://api.example.com https://id.example.com; "} {
		if !strings.Contains(got, want) {
			t.Errorf("policy %q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "unsafe") {
		t.Errorf("policy %q allows what is unsafe", got)
	}
}

func files(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := fs.WalkDir(web.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(web.Files, name)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
