package identity_test

import (
	"errors"
	"strings"
	"testing"

	"flashsale/shared/identity"
)

func TestBearer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		headers []string
		want    string // empty: refused
	}{
		"usual":               {[]string{"Bearer a.b.c"}, "a.b.c"},
		"lower case":          {[]string{"bearer a.b.c"}, "a.b.c"},
		"upper case":          {[]string{"BEARER a.b.c"}, "a.b.c"},
		"more spaces":         {[]string{"Bearer   a.b.c"}, "a.b.c"},
		"whole charset":       {[]string{"Bearer aZ09-_.~+/.c="}, "aZ09-_.~+/.c="},
		"8 KB":                {[]string{"Bearer a.b." + strings.Repeat("c", 8<<10-4)}, "a.b." + strings.Repeat("c", 8<<10-4)},
		"over 8 KB":           {[]string{"Bearer a.b." + strings.Repeat("c", 8<<10-3)}, ""},
		"none":                {nil, ""},
		"twice":               {[]string{"Bearer a.b.c", "Bearer a.b.c"}, ""},
		"twice in one":        {[]string{"Bearer a.b.c, Bearer a.b.c"}, ""},
		"empty":               {[]string{""}, ""},
		"scheme only":         {[]string{"Bearer"}, ""},
		"scheme and space":    {[]string{"Bearer "}, ""},
		"basic":               {[]string{"Basic a.b.c"}, ""},
		"no space":            {[]string{"Bearera.b.c"}, ""},
		"tab":                 {[]string{"Bearer\ta.b.c"}, ""},
		"two parts":           {[]string{"Bearer a.b"}, ""},
		"four parts":          {[]string{"Bearer a.b.c.d"}, ""},
		"empty first part":    {[]string{"Bearer .b.c"}, ""},
		"empty second part":   {[]string{"Bearer a..c"}, ""},
		"empty last part":     {[]string{"Bearer a.b."}, ""},
		"newline at the end":  {[]string{"Bearer a.b.c\n"}, ""},
		"not ASCII":           {[]string{"Bearer a.b.ç"}, ""},
		"space at the front":  {[]string{" Bearer a.b.c"}, ""},
		"space inside":        {[]string{"Bearer a.b. c"}, ""},
		"NUL":                 {[]string{"Bearer a.b.c\x00"}, ""},
		"quoted":              {[]string{`Bearer "a.b.c"`}, ""},
		"scheme as the token": {[]string{"Bearer Bearer a.b.c"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := identity.Bearer(tc.headers)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("Bearer = %q, %v; want %q", got, err, tc.want)
			}
			if err != nil && !errors.Is(err, identity.ErrUnauthenticated) {
				t.Errorf("error %v is not ErrUnauthenticated", err)
			}
		})
	}
}

func BenchmarkBearer(b *testing.B) {
	headers := []string{"Bearer " + ecSigner().sign(claims(nil), nil)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := identity.Bearer(headers); err != nil {
			b.Fatal(err)
		}
	}
}
