package plainjson

// Members are the known names that an object had so far.
type Members struct {
	had  uint32
	next int // mostly the members come in the sequence of the known names
}

// Next reads a member's name and returns it if it is one of known, which are at
// most 32 in ASCII; else "". The cursor fails at a known name that comes twice, or
// in another case: encoding/json has rules for both.
func (m *Members) Next(c *Cursor, known []string) string {
	key := c.Key()
	if i := m.next; i < len(known) && string(key) == known[i] && m.had&(1<<i) == 0 {
		m.had |= 1 << i
		m.next++
		return known[i]
	}
	for i, name := range known {
		switch {
		case len(key) != len(name):
		case string(key) == name && m.had&(1<<i) == 0:
			m.had |= 1 << i
			m.next = i + 1
			return name
		case EqualFold(key, name):
			c.Fail()
			return name
		}
	}
	return ""
}

// EqualFold compares names in ASCII, whatever their case.
func EqualFold(a []byte, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i, x := range a {
		lower := x | 0x20
		if y := b[i]; x != y && (lower != y|0x20 || lower < 'a' || lower > 'z') {
			return false
		}
	}
	return true
}
