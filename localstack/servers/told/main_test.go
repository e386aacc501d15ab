package main

import (
	"strings"
	"testing"
)

func TestTell(t *testing.T) {
	t.Parallel()
	events := strings.NewReplacer("'", `"`).Replace(`
{'Action':'output','Package':'a','Test':'TestGood','Output':'=== RUN   TestGood\n'}
{'Action':'output','Package':'a','Test':'TestGood','Output':'    a_test.go:1: chatter\n'}
{'Action':'pass','Package':'a','Test':'TestGood'}
{'Action':'output','Package':'a','Test':'TestNot','Output':'    a_test.go:2: left out: no server\n'}
{'Action':'output','Package':'a','Test':'TestNot','Output':'--- SKIP: TestNot (0.00s)\n'}
{'Action':'skip','Package':'a','Test':'TestNot'}
{'Action':'output','Package':'a','Output':'PASS\n'}
{'Action':'output','Package':'a','Output':'ok  \ta\t0.1s\n'}
{'Action':'pass','Package':'a'}
go: a word of its own
{'ImportPath':'c','Action':'build-output','Output':'c.go:1: syntax error\n'}
{'Action':'output','Package':'b','Test':'TestBad','Output':'    b_test.go:3: got 1, want 2\n'}
{'Action':'output','Package':'b','Test':'TestBad','Output':'--- FAIL: TestBad (0.00s)\n'}
{'Action':'fail','Package':'b','Test':'TestBad'}
{'Action':'output','Package':'b','Test':'TestDies','Output':'panic: boom\n'}
{'Action':'output','Package':'b','Output':'-test.shuffle 7\n'}
{'Action':'output','Package':'b','Output':'FAIL\tb\t0.1s\n'}
{'Action':'fail','Package':'b'}
`[1:])
	const want = `left out: a TestNot
    a_test.go:2: left out: no server
--- SKIP: TestNot (0.00s)
ok  	a	0.1s
go: a word of its own
c.go:1: syntax error
    b_test.go:3: got 1, want 2
--- FAIL: TestBad (0.00s)
panic: boom
-test.shuffle 7
FAIL	b	0.1s
`
	var got strings.Builder
	if err := tell(strings.NewReader(events), &got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}
