package plainjson

// Members are the known names that an object had so far.
type Members uint32

// Next reads a member's name and returns it if it is one of known, which are at
// most 32 in ASCII; else "". The cursor fails at a known name that comes twice, or
// in another case: encoding/json has rules for both.
func (m *Members) Next(c *Cursor, known []string) string {
	key := c.Key()
	for i, name := range known {
		switch {
		case len(key) != len(name):
		case string(key) == name && *m&(1<<i) == 0:
			*m |= 1 << i
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
