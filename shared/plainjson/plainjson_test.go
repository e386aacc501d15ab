package plainjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"flashsale/shared/plainjson"
)

// texts are of all kinds, good and bad.
var texts = []string{
	``, ` `, `0`, `-0`, `12`, `-1.5e+10`, `1E9`, `01`, `-`, `1.`, `.5`, `1e`, `+1`, `0x1`, `1 2`, `true`, `false`, `null`, `nul`, `True`, `truefalse`,
	`""`, `"a"`, `"abcdefg"`, `"abcdefgh"`, `"abcdefghi"`, `"abcdefghijklmnop"`, `"`, `"a`, `"abcdefgh`, `"a\"b"`, `"\\"`, `"\`, `"\u00e9"`, `"\ud83d\ude00"`,
	`"\ud800"`, `"\u12"`, `"\u12G4"`, `"\x"`, `"abcdefgh\"ijklmnop"`, "\"a\nb\"", "\"\x00\"", "\"\x7f\"", "\"é\"", "\"abcdefghé\"", "\"abc\"é", "\"\xff\"", "\"abcdefg\xff\"",
	"\"\x1f\"", "\" !\"", "\"!\"", `"[]"`, `[]`, `[1]`, `[1,2]`, `[1,]`, `[,1]`, `[1 2]`, `[`, `]`, `[[[]]]`, `[}`, `{}`, `{"a":1}`, `{"a":1,"b":[{}]}`, `{"a":1,}`, `{,}`,
	`{"a"}`, `{"a":}`, `{a:1}`, `{1:1}`, `{"a":1 "b":2}`, `{"a":1,"a":2}`, `{"\u0061":1}`, "\ufeff{}", "{}\x00", " \t\r\n{ \"a\" : [ 1 , true ] } \n", "\v1",
	`{"a":"1","a":["1"]}`, `{"a":"1","a":["2"]}`, `{"a":"1","b":["1"]}`, `{"a":"1","a":["1","1"]}`, `{"a":"1","a":["1"`, `{"a":"1","a":["1"}`,
	`{"a":"1","a":["1"],"a":["1"]}`, `{"a":"","a":[""]}`, `{"":"","":[""]}`, `{"a":"12","a":["1"]}`, `{"a":"1","a":["12"]}`, `{"a":"1","a" :["1"]}`,
	`{"a":"1","a":[ "1"]}`, `{"a":"\"","a":["\""]}`, `{"a":"\"","a":["\"]}`, `{"a":"é","a":["é"]}`, `{"\u0061":"1","\u0061":["1"]}`, `{"a":"1","a":"1"}`,
	strings.Repeat("[", 63) + strings.Repeat("]", 63), strings.Repeat("[", 65) + strings.Repeat("]", 65), strings.Repeat(`{"a":`, 30) + "1" + strings.Repeat("}", 30),
}

// check compares what a Cursor says about one value with encoding/json.
func check(t *testing.T, text []byte) {
	t.Helper()
	valid := json.Valid(text)
	c := plainjson.New(text)
	c.Skip()
	deep := strings.Count(string(text), "[")+strings.Count(string(text), "{") > 60
	if got := c.Done(); got != valid && (got || !deep) {
		t.Errorf("Skip: valid %t, want %t: %q", got, valid, text)
	}

	var want string
	err := json.Unmarshal(text, &want)
	c = plainjson.New(text)
	raw := c.Raw()
	if ok := c.Done(); ok != (err == nil && strings.HasPrefix(strings.TrimLeft(string(text), " \t\r\n"), `"`)) {
		t.Errorf("Raw: %t, want %v: %q", ok, err, text)
	} else if ok && raw.Plain && string(text[raw.From:raw.To]) != want {
		t.Errorf("Raw: %q, want %q", text[raw.From:raw.To], want)
	} else if plain := !strings.ContainsFunc(want, func(r rune) bool { return r > '~'+1 }) && !strings.Contains(string(text), `\`); ok && raw.Plain != plain {
		t.Errorf("Raw: plain %t, want %t: %q", raw.Plain, plain, text)
	}
	c = plainjson.New(text)
	if got := c.Text(); c.Done() && (err != nil || string(got) != want) {
		t.Errorf("Text: %q, want %q, %v", got, want, err)
	}

	var number int64
	err = json.Unmarshal(text, &number)
	c = plainjson.New(text)
	if got := c.Int(); c.Done() && (err != nil || got != number) {
		t.Errorf("Int: %d, want %d, %v: %q", got, number, err, text)
	}
	var truth bool
	err = json.Unmarshal(text, &truth)
	c = plainjson.New(text)
	if got := c.Bool(); c.Done() && (err != nil || got != truth) {
		t.Errorf("Bool: %t, want %t, %v: %q", got, truth, err, text)
	}
	c = plainjson.New(text)
	if got := c.Null(); c.Done() != (got && strings.TrimSpace(string(text)) == "null") && len(strings.TrimSpace(string(text))) > 0 {
		t.Errorf("Null: %t: %q", got, text)
	}

	repeats(t, text)

	var members map[string]json.RawMessage
	err = json.Unmarshal(text, &members)
	c = plainjson.New(text)
	got := map[string]json.RawMessage{}
	for c.Open('{'); c.Next('}'); {
		name := string(c.Key())
		from, to := c.Skip()
		got[name] = text[from:to]
	}
	if !c.Done() {
		return
	}
	if err != nil || len(got) != len(members) {
		t.Errorf("members %q, want %q, %v: %q", got, members, err, text)
	}
	for name, value := range members {
		if string(got[name]) != string(value) {
			t.Errorf("member %q is %s, want %s", name, got[name], value)
		}
	}
}

// repeats compares two ways of reading the second member of an object.
func repeats(t *testing.T, text []byte) {
	t.Helper()
	c := plainjson.New(text)
	c.Open('{')
	c.Next('}')
	oldName, oldValue := c.RawKey(), c.Raw()
	c.Next('}')
	d := c
	name, value, ok := c.Repeats(oldName, oldValue)
	if !ok {
		if c.At() != d.At() {
			t.Errorf("Repeats has read what it does not know: %q", text)
		}
		return
	}
	if got := d.RawKey(); got != name {
		t.Errorf("Repeats: name %v, want %v: %q", name, got, text)
	}
	d.Open('[')
	more := d.Next(']')
	if got := d.Raw(); !more || got != value || d.Next(']') {
		t.Errorf("Repeats: value %v, want %v alone: %q", value, got, text)
	}
	if c.At() != d.At() {
		t.Errorf("Repeats: read to %d, want %d: %q", c.At(), d.At(), text)
	}
}

// TestRepeats wants the fast way where it is possible.
func TestRepeats(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"name":"value","name":["value"]}`: true, `{"n":"","n":[""]}`: true, `{"n":"\"é","n":["\"é"]}`: true,
		`{"name":"value","nam":["value"]}`: false, `{"name":"value","name":["valuf"]}`: false, `{"name":"value","name":["value","b"]}`: false,
	} {
		c := plainjson.New([]byte(text))
		c.Open('{')
		c.Next('}')
		name, value := c.RawKey(), c.Raw()
		c.Next('}')
		if _, _, ok := c.Repeats(plainjson.Raw{}, plainjson.Raw{}); ok {
			t.Errorf("nothing is repeated: %s", text)
		}
		if _, _, ok := c.Repeats(name, value); ok != want {
			t.Errorf("Repeats = %t, want %t: %s", ok, want, text)
		}
	}
}

// TestStringsOfAllLengths has each kind of byte at each place of the words that are looked at at once.
func TestStringsOfAllLengths(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		for at := range n + 1 {
			for _, special := range []string{"", "x", " ", "!", "#", "[", "]", "\x7f", `"`, `\`, `\"`, `\\`, `\u0041`, "\x1f", "\n", "\x00", "\x02", "\x80", "é", "\xff"} {
				text := strings.Repeat("a", at) + special + strings.Repeat("b", n-at)
				check(t, []byte(`"`+text+`"`))
				check(t, []byte(`["`+text+`"                 ]`))
			}
		}
	}
}

func TestCursorAgreesWithTheFullDecoder(t *testing.T) {
	t.Parallel()
	for _, text := range texts {
		check(t, []byte(text))
	}
}

func TestIntsOfAllLengths(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0", "7", "-7", "999999999999999999", "-99999999999999999"} {
		c := plainjson.New([]byte(text))
		var want int64
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if got := c.Int(); !c.Done() || got != want {
			t.Errorf("Int of %s = %d, want it", text, got)
		}
	}
}

func FuzzCursor(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(check)
}

// TestMembersComeOnce in whatever sequence: encoding/json has rules of its own for those that come twice.
func TestMembersComeOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"a":1,"b":2,"c":3}`: true, `{"c":1,"x":2,"a":3,"b":4}`: true, `{"b":1,"a":2,"b":3}`: false, `{"a":1,"a":2}`: false, `{"c":1,"c":2}`: false,
	} {
		var m plainjson.Members
		c := plainjson.New([]byte(text))
		for c.Open('{'); c.Next('}'); {
			m.Next(&c, []string{"a", "b", "c"})
			c.Skip()
		}
		if got := c.Done(); got != want {
			t.Errorf("%s: read %t, want %t", text, got, want)
		}
	}
}
