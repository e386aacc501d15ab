package lint_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"flashsale/localstack/lint"
)

// Every rule is shown to fail on a bad file and to pass the nearest good one.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file, text string
		want             string // part of the one finding; empty: none
	}{
		{"function imports shared", "functions/purchase/handler.go", imports("flashsale/shared/stock"), ""},
		{"function imports a function", "functions/purchase/handler.go", imports("flashsale/functions/expirer"), "no function imports another"},
		{"its test imports a function", "functions/purchase/handler_test.go", imports("flashsale/functions/expirer"), "no function imports another"},
		{"main imports its handler", "functions/purchase/lambda/main.go", imports("flashsale/functions/purchase"), ""},
		{"main imports another's handler", "functions/purchase/lambda/main.go", imports("flashsale/functions/expirer"), "no function imports another"},
		{"a name that begins alike", "functions/order/lambda/main.go", imports("flashsale/functions/orderwriter"), "no function imports another"},
		{"shared imports a function", "shared/giveback/giveback.go", imports("flashsale/functions/expirer"), "import functions"},
		{"the development server imports a function", "localstack/dev/main.go", imports("flashsale/functions/expirer"), ""},
		{"deploy imports a function", "localstack/deploy/main.go", imports("flashsale/functions/expirer"), "import functions"},
		{"stock imports sale", "shared/stock/stock.go", imports("flashsale/shared/sale"), ""},
		{"stock imports order", "shared/stock/stock.go", imports("flashsale/shared/order"), "do not import each other"},
		{"order's test imports orderlog", "shared/order/order_test.go", imports("flashsale/shared/orderlog"), "do not import each other"},
		{"orderlog imports a part of stock", "shared/orderlog/log.go", imports("flashsale/shared/stock/part"), "do not import each other"},
		{"giveback imports both", "shared/giveback/giveback.go", imports("flashsale/shared/stock", "flashsale/shared/order"), ""},
		{"sale imports shared", "shared/sale/sale.go", imports("flashsale/shared/config"), "is a leaf"},
		{"sale's test imports sale", "shared/sale/sale_test.go", imports("flashsale/shared/sale"), ""},
		{"stock imports lua", "shared/stock/stock.go", imports("flashsale/lua"), ""},
		{"order imports lua", "shared/order/order.go", imports("flashsale/lua"), "only shared/stock"},
		{"the benchmark imports lua", "localstack/bench/reserve.go", imports("flashsale/lua"), ""},
		{"lua imports shared", "lua/lua.go", imports("flashsale/shared/sale"), "imports nothing of ours"},
		{"migrations import shared", "migrations/migrations.go", imports("flashsale/shared/sale"), "imports nothing of ours"},
		{"shared imports servers", "shared/stock/stock.go", imports("flashsale/localstack/servers"), "deployed binary"},
		{"a test imports servers", "shared/stock/stock_test.go", imports("flashsale/localstack/servers"), ""},
		{"a test imports the development server", "shared/stock/stock_test.go", imports("flashsale/localstack/dev"), "deployed binary"},
		{"servers import shared", "localstack/servers/servers.go", imports("flashsale/shared/sale"), "imports nothing of ours"},
		{"function imports the page", "functions/saleinfo/handler.go", imports("flashsale/web"), "only the development server"},
		{"another module", "shared/sale/sale.go", imports("strings"), ""},

		{"299 lines", "lua/reserve.lua", strings.Repeat("\n", 299), ""},
		{"300 lines", "lua/reserve.lua", strings.Repeat("\n", 300), "300 lines"},
		{"long prose", "docs/architecture.md", strings.Repeat("\n", 1000), ""},
		{"main of 49 lines", "functions/purchase/lambda/main.go", "package main" + strings.Repeat("\n", 49), ""},
		{"main of 50 lines", "functions/purchase/lambda/main.go", "package main" + strings.Repeat("\n", 50), "50 lines of wiring"},
		{"test of 50 lines", "functions/purchase/handler_test.go", "package purchase_test" + strings.Repeat("\n", 50), ""},

		{"config reads the environment", "shared/config/config.go", getenv("os"), ""},
		{"shared reads the environment", "shared/order/order.go", getenv("os"), "reads the environment"},
		{"under another name", "functions/purchase/handler.go", getenv("sys"), "reads the environment"},
		{"a test reads the environment", "shared/order/order_test.go", getenv("os"), ""},
		{"a comment names it", "shared/order/order.go", "package order\n\nimport _ \"os\" // not os.Getenv(\"HOME\")\n", ""},
		{"init in a function", "functions/purchase/lambda/main.go", "package main\n\nfunc init() {}\n", "init function"},
		{"a method named init", "functions/purchase/handler.go", "package purchase\n\ntype T int\n\nfunc (T) init() {}\n", ""},

		{"not Go", "shared/sale/sale.go", "packag sale", "does not parse"},
		{"a vague package", "shared/utils/strings.go", "package utils\n", "named for the business"},
		{"a stray folder", "scripts/x.txt", "", "does not belong on top"},
		{"a dot-file", ".gitignore", "build\n", ""},
		{"what was built", "build/arm64/purchase/main.go", "packag", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			findings, err := lint.Check(fstest.MapFS{tc.file: {Data: []byte(tc.text)}})
			if err != nil {
				t.Fatalf("Check: %v", err)
			}
			switch {
			case tc.want == "" && len(findings) > 0:
				t.Errorf("findings: got %q, want none", findings)
			case tc.want != "" && (len(findings) != 1 || !strings.Contains(findings[0], tc.want)):
				t.Errorf("findings: got %q, want one with %q", findings, tc.want)
			}
		})
	}
}

// A tree that cannot be read is no clean tree.
func TestCheckUnreadable(t *testing.T) {
	t.Parallel()
	if _, err := lint.Check(os.DirFS(t.TempDir() + "/missing")); err == nil {
		t.Error("Check of a missing folder: got no error, want one")
	}
}

func imports(paths ...string) string {
	var b strings.Builder
	b.WriteString("package p\n\n")
	for _, path := range paths {
		b.WriteString("import _ \"" + path + "\"\n")
	}
	return b.String()
}

func getenv(name string) string {
	return "package p\n\nimport " + name + " \"os\"\n\nvar home = " + name + ".Getenv(\"HOME\")\n"
}
