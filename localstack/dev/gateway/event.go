package gateway

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// appendEvent writes the proxy event of a REST API. It appends rather than marshals,
// because this runs for every shopper of a load test on the machine of the sale.
func appendEvent(b []byte, r *http.Request, resourcePath string, params map[string]string, body []byte, id string, now time.Time) []byte {
	source, port := sourceOf(r)
	b = appendField(append(b, '{'), "resource", resourcePath)
	// A REST API leaves the path as it came; only the parameters are decoded.
	b = appendField(append(b, ','), "path", r.URL.EscapedPath())
	b = appendField(append(b, ','), "httpMethod", r.Method)
	var room [32]field
	b = appendBoth(append(b, ','), "headers", "multiValueHeaders", headersOf(room[:0], r, source, port, now))
	b = appendBoth(append(b, ','), "queryStringParameters", "multiValueQueryStringParameters", queryOf(r))
	b = append(b, `,"pathParameters":`...)
	b = appendParams(b, params)
	b = append(b, `,"stageVariables":null,"requestContext":`...)
	b = appendContext(b, r, resourcePath, source, id, now)
	b = append(b, `,"body":`...)
	return append(appendBody(b, body), '}')
}

func appendContext(b []byte, r *http.Request, resourcePath, source, id string, now time.Time) []byte {
	const stage = "dev"
	b = append(b, `{"accountId":"000000000000","apiId":"local","domainPrefix":"local","resourceId":"local"`...)
	for _, field := range [...][2]string{
		{"domainName", r.Host},
		{"extendedRequestId", id},
		{"httpMethod", r.Method},
		{"path", "/" + stage + r.URL.EscapedPath()},
		{"protocol", r.Proto},
		{"requestId", id},
		{"requestTime", now.UTC().Format("02/Jan/2006:15:04:05 -0700")},
		{"resourcePath", resourcePath},
		{"stage", stage},
	} {
		b = appendField(append(b, ','), field[0], field[1])
	}
	b = append(b, `,"requestTimeEpoch":`...)
	b = strconv.AppendInt(b, now.UnixMilli(), 10)
	b = append(b, `,"identity":{"accessKey":null,"accountId":null,"caller":null,"user":null,"userArn":null,"userAgent":`...)
	if agent := r.UserAgent(); agent == "" {
		b = append(b, "null"...)
	} else {
		b = appendText(b, agent)
	}
	return append(appendField(append(b, ','), "sourceIp", source), '}', '}')
}

// A field is a header or a parameter with all its values.
type field struct {
	name string
	all  []string
	text string // the last value, and the only one where all is nil

	from, to int // where it stands in the event
}

// headersOf adds what API Gateway adds, and Host, which net/http takes out.
func headersOf(list []field, r *http.Request, source, port string, now time.Time) []field {
	trace, forwarded := "", ""
	for name, all := range r.Header {
		last := all[len(all)-1]
		switch name {
		case "Host", "X-Forwarded-Port", "X-Forwarded-Proto":
			continue
		case "X-Forwarded-For":
			forwarded = all[0]
			continue
		case "X-Amzn-Trace-Id":
			if trace = all[0]; trace == "" {
				continue
			}
		}
		list = append(list, field{name: name, all: all, text: last})
	}
	if forwarded != "" {
		source = forwarded + ", " + source
	}
	if trace == "" {
		list = append(list, field{name: "X-Amzn-Trace-Id", text: traceID(now)})
	}
	return append(list, field{name: "Host", text: r.Host}, field{name: "X-Forwarded-For", text: source},
		field{name: "X-Forwarded-Port", text: port}, field{name: "X-Forwarded-Proto", text: "http"})
}

func queryOf(r *http.Request) (list []field) {
	if r.URL.RawQuery == "" {
		return nil
	}
	for name, all := range r.URL.Query() {
		list = append(list, field{name: name, all: all, text: all[len(all)-1]})
	}
	return list
}

// appendBoth writes values twice, as API Gateway does: the last of each name, and all,
// both times in the same sequence.
func appendBoth(b []byte, single, multi string, list []field) []byte {
	if len(list) == 0 {
		b = append(appendText(b, single), ":null,"...)
		return append(appendText(b, multi), ":null"...)
	}
	slices.SortFunc(list, func(a, b field) int { return strings.Compare(a.name, b.name) })
	b = append(appendText(b, single), ':', '{')
	for i := range list {
		f := &list[i]
		b = append(appendText(b, f.name), ':')
		f.from = len(b)
		b = appendText(b, f.text)
		f.to = len(b)
		b = append(b, ',')
	}
	b[len(b)-1] = '}'
	b = append(appendText(append(b, ','), multi), ':', '{')
	for i := range list {
		f := &list[i]
		b = append(appendText(b, f.name), ':', '[')
		for _, value := range f.all[:max(len(f.all), 1)-1] {
			b = append(appendText(b, value), ',')
		}
		b = append(b, b[f.from:f.to]...)
		b = append(b, ']', ',')
	}
	b[len(b)-1] = '}'
	return b
}

func appendParams(b []byte, params map[string]string) []byte {
	if len(params) == 0 {
		return append(b, "null"...)
	}
	b = append(b, '{')
	for name, value := range params {
		b = append(appendField(b, name, value), ',')
	}
	b[len(b)-1] = '}'
	return b
}

// appendBody passes what is not text on as base64: JSON could not carry it.
func appendBody(b, body []byte) []byte {
	switch {
	case len(body) == 0:
		return append(b, `null,"isBase64Encoded":false`...)
	case utf8.Valid(body):
		return append(appendText(b, string(body)), `,"isBase64Encoded":false`...)
	default:
		b = base64.StdEncoding.AppendEncode(append(b, '"'), body)
		return append(b, `","isBase64Encoded":true`...)
	}
}

func appendField(b []byte, name, value string) []byte {
	return appendText(append(appendText(b, name), ':'), value)
}

// appendText writes a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(b []byte, text string) []byte {
	if !plain(text) {
		quoted, _ := json.Marshal(text) // a string always marshals
		return append(b, quoted...)
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// special are the bytes that a JSON string does not have as they are.
var special = func() (special [256]uint8) {
	for c := range special {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			special[c] = 1
		}
	}
	return special
}()

func plain(text string) bool {
	for ; len(text) >= 8; text = text[8:] {
		if special[text[0]]|special[text[1]]|special[text[2]]|special[text[3]]|
			special[text[4]]|special[text[5]]|special[text[6]]|special[text[7]] != 0 {
			return false
		}
	}
	for i := range len(text) {
		if special[text[i]] != 0 {
			return false
		}
	}
	return true
}

// match fits a path's raw segments to the resource and decodes its parameters. An
// empty segment is no parameter.
func (r *resource) match(segments []string) (map[string]string, bool) {
	if len(segments) != len(r.segments) {
		return nil, false
	}
	var params map[string]string
	for i, pattern := range r.segments {
		if !strings.HasPrefix(pattern, "{") {
			if pattern != segments[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(segments[i])
		if err != nil || value == "" {
			return nil, false
		}
		if params == nil {
			params = make(map[string]string, 1)
		}
		params[pattern[1:len(pattern)-1]] = value
	}
	return params, true
}

func sourceOf(r *http.Request) (ip, port string) {
	ip, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		ip = r.RemoteAddr
	}
	if _, port, err = net.SplitHostPort(r.Host); err != nil {
		port = "80"
	}
	return ip, port
}

// traceID has X-Ray's form: the time and 96 random bits.
func traceID(now time.Time) string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // documented never to fail
	return "Root=1-" + strconv.FormatInt(now.Unix(), 16) + "-" + hex.EncodeToString(random[:])
}
