package apigw

import "flashsale/shared/plainjson"

var (
	eventNames = []string{
		"httpMethod", "path", "resource", "pathParameters", "headers", "multiValueHeaders", "body",
		"isBase64Encoded", "requestContext",
	}
	contextNames  = []string{"requestId", "identity"}
	identityNames = []string{"sourceIp"}
)

// read fills the Glance. The cursor fails where encoding/json would do what is
// not done here.
func (g *Glance) read(c *plainjson.Cursor) {
	var m plainjson.Members
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
			g.strings(c, single)
		case "multiValueHeaders":
			g.lists(c)
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
	var outer, inner plainjson.Members
	for c.Open('{'); c.Next('}'); {
		switch outer.Next(c, contextNames) {
		case "requestId":
			g.requestID = g.text(c)
		case "identity":
			for c.Open('{'); c.Next('}'); {
				if inner.Next(c, identityNames) == "sourceIp" {
					g.sourceIP = g.text(c)
				} else {
					c.Skip()
				}
			}
		default:
			c.Skip()
		}
	}
}

func (g *Glance) strings(c *plainjson.Cursor, kind kind) {
	for c.Open('{'); c.Next('}'); {
		name := g.key(c)
		g.add(c, field{name: name, kind: kind})
	}
}

// lists gives up at an empty list: a later one of the same name would replace it.
func (g *Glance) lists(c *plainjson.Cursor) {
	for c.Open('{'); c.Next('}'); {
		name, before := g.key(c), g.n
		for c.Open('['); c.Next(']'); {
			g.add(c, field{name: name, kind: multi})
		}
		if g.n == before {
			c.Fail()
		}
	}
}

// add reads the field's value.
func (g *Glance) add(c *plainjson.Cursor, f field) {
	raw := c.Raw()
	if g.n == maxFields {
		c.Fail()
		return
	}
	f.value, f.plain = spanOf(raw), raw.Plain
	g.fields[g.n] = f
	g.n++
}

// text reads a string that must be plain.
func (g *Glance) text(c *plainjson.Cursor) span {
	raw := c.Raw()
	if !raw.Plain {
		c.Fail()
	}
	return spanOf(raw)
}

func (g *Glance) key(c *plainjson.Cursor) span {
	raw := c.RawKey()
	if !raw.Plain {
		c.Fail()
	}
	return spanOf(raw)
}

func spanOf(raw plainjson.Raw) span { return span{uint32(raw.From), uint32(raw.To)} }
