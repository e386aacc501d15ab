package lint

import (
	"path"
	"slices"
	"strings"
)

const module = "flashsale/"

// foundation packages are apart from each other, so that each store can be read alone.
var foundation = []string{"shared/stock", "shared/order", "shared/orderlog"}

// wholeSystem are the only packages that put functions together.
var wholeSystem = []string{"localstack/dev", "localstack/e2e", "localstack/bench", "localstack/chaos"}

// forbiddenImport says why file may not import that package; empty if it may.
// The direction is functions → shared → lua, migrations. Tests follow it too, but may use servers.
func forbiddenImport(file, imported string) string {
	target, ours := strings.CutPrefix(imported, module)
	if !ours {
		return ""
	}
	from := path.Dir(file)
	test := strings.HasSuffix(file, "_test.go")
	if within(from, target) || (test && within(target, from)) {
		return "" // its own package or folder
	}
	if test && target == "localstack/servers" {
		return ""
	}
	top, _, _ := strings.Cut(from, "/")
	to, _, _ := strings.Cut(target, "/")

	switch {
	case to == "functions" && top == "functions":
		if secondPart(from) == secondPart(target) {
			return ""
		}
		return "no function imports another"
	case to == "functions":
		if slices.ContainsFunc(wholeSystem, func(dir string) bool { return within(from, dir) }) {
			return ""
		}
		return "only " + strings.Join(wholeSystem, ", ") + " import functions"
	case within(from, "localstack/servers"):
		return "localstack/servers imports nothing of ours"
	case to == "localstack" && top != "localstack":
		return "nothing of localstack is linked into a deployed binary"
	case top == "lua" || top == "migrations" || top == "web":
		return top + " imports nothing of ours"
	case to == "web" && top != "localstack":
		return "only the development server embeds the page"
	case within(from, "shared/sale"):
		return "shared/sale is a leaf"
	case inFoundation(from) && inFoundation(target):
		return "shared/stock, shared/order and shared/orderlog do not import each other"
	case to == "lua" && top != "localstack" && !test && !within(from, "shared/stock"): // a test may wait for a script
		return "only shared/stock knows the scripts"
	}
	return ""
}

func inFoundation(dir string) bool {
	return slices.ContainsFunc(foundation, func(f string) bool { return within(dir, f) })
}

// within reports whether dir is the folder or below it.
func within(dir, folder string) bool {
	return dir == folder || strings.HasPrefix(dir, folder+"/")
}

func secondPart(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}
