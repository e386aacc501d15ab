package apigw

import "flashsale/shared/plainjson"

var (
	eventNames = []string{
		"resource", "path", "httpMethod", "headers", "multiValueHeaders", "pathParameters", "requestContext",
		"body", "isBase64Encoded",
	}
	contextNames  = []string{"requestId", "identity", "extendedRequestId", "path", "requestTime", "requestTimeEpoch"}
	identityNames = []string{"sourceIp", "userAgent"}
)

// read fills the Glance. The cursor fails where encoding/json would do what is
// not done here.
func (g *Glance) read(c *plainjson.Cursor) {
	var m plainjson.Members
	var headers []field
	for c.Open('{'); c.Next('}'); {
		name := m.Next(c, eventNames)
		if name != "" && c.Null() {
			continue // as if it were missing
		}
		switch name {
		case "httpMethod":
			g.method = g.text(c)
		case "path":
			g.path = g.text(c)
		case "resource":
			g.resource = g.text(c)
		case "pathParameters":
			g.strings(c, param)
		case "headers":
			headers = g.strings(c, single)
		case "multiValueHeaders":
			g.lists(c, headers)
		case "body":
			raw := c.Raw()
			g.body, g.plain = spanOf(raw), raw.Plain
		case "isBase64Encoded":
			g.base64 = c.Bool()
		case "requestContext":
			g.context(c)
		default:
			c.Skip()
		}
	}
}

func (g *Glance) context(c *plainjson.Cursor) {
	if g.again(c) {
		return
	}
	g.last.forget(c.At())
	var outer plainjson.Members
	for c.Open('{'); c.Next('}'); {
		switch outer.Next(c, contextNames) {
		case "requestId":
			g.differs(c, true)
		case "identity":
			g.identity(c)
		case "":
			c.Skip()
		default:
			g.differs(c, false)
		}
	}
	g.last.to = c.At()
}

func (g *Glance) identity(c *plainjson.Cursor) {
	var m plainjson.Members
	for c.Open('{'); c.Next('}'); {
		if m.Next(c, identityNames) == "" {
			c.Skip()
		} else {
			g.differs(c, false)
		}
	}
}

// strings reads an object of strings. It returns their fields.
func (g *Glance) strings(c *plainjson.Cursor, kind kind) []field {
	from := g.n
	for c.Open('{'); c.Next('}'); {
		name := plain(c, c.RawKey())
		g.add(c, field{name: name, kind: kind}, c.Raw())
	}
	return g.fields[from:g.n]
}

// lists reads the headers' second form, which mostly repeats the first one in the
// same sequence. It gives up at an empty list: a later one of the same name would
// replace it.
func (g *Glance) lists(c *plainjson.Cursor, first []field) {
	for c.Open('{'); c.Next('}'); {
		var like field
		if len(first) > 0 {
			like, first = first[0], first[1:]
		}
		if name, value, ok := c.Repeats(like.name.raw(true), like.value.raw(like.plain)); ok {
			g.add(c, field{name: spanOf(name), kind: multi}, value)
			continue
		}
		name, before := plain(c, c.RawKey()), g.n
		for c.Open('['); c.Next(']'); {
			g.add(c, field{name: name, kind: multi}, c.Raw())
		}
		if g.n == before {
			c.Fail()
		}
	}
}

// add takes the field with its value.
func (g *Glance) add(c *plainjson.Cursor, f field, value plainjson.Raw) {
	if g.n == maxFields {
		c.Fail()
		return
	}
	f.value, f.plain = spanOf(value), value.Plain
	g.fields[g.n] = f
	g.n++
}

// text reads a string that must be plain.
func (g *Glance) text(c *plainjson.Cursor) span { return plain(c, c.Raw()) }

func plain(c *plainjson.Cursor, raw plainjson.Raw) span {
	if !raw.Plain {
		c.Fail()
	}
	return spanOf(raw)
}

func spanOf(raw plainjson.Raw) span { return span{uint32(raw.From), uint32(raw.To)} }

func (s span) raw(plain bool) plainjson.Raw {
	return plainjson.Raw{From: int(s.from), To: int(s.to), Plain: plain}
}
