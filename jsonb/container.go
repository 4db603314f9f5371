package jsonb

import "cmp"

// container is the decoded header of an array or object.
type container struct {
	heads string // the offset tables
	keys  string // keys of an object; empty for an array
	vals  string // elements or values
	n     int
	width int // bytes of an offset: 1, 2 or 4
	keyed bool
}

// open decodes the header of a container. For a damaged header it returns an empty container (J2).
func (d Doc) open() container {
	t := d.tag()
	c := container{keyed: t >= tagObject}
	w := 1 << (t & 3)
	if t < tagArray || t&3 == 3 || t > tagObject+2 || len(d) < 1+w {
		return c
	}
	n := offset(string(d[1:]), 0, w)
	heads := n * w
	if c.keyed {
		heads *= 2
	}
	body := string(d[1+w:])
	if n > len(body) || heads > len(body) {
		return c
	}
	c.heads, c.width, c.vals = body[:heads], w, body[heads:]
	if c.keyed && n > 0 {
		end := offset(c.heads, n-1, w)
		if end > len(c.vals) {
			return container{keyed: true}
		}
		c.keys, c.vals = c.vals[:end], c.vals[end:]
	}
	c.n = n
	return c
}

// offset reads the i-th integer of a table whose bounds the caller has checked.
func offset(table string, i, width int) int {
	switch width {
	case 1:
		return int(table[i])
	case 2:
		return int(table[2*i]) | int(table[2*i+1])<<8
	}
	return int(table[4*i]) | int(table[4*i+1])<<8 | int(table[4*i+2])<<16 | int(table[4*i+3])<<24
}

// part cuts s[lo:hi]; it returns nothing if a damaged table has impossible bounds (J2).
func part(s string, lo, hi int) string {
	if uint(lo) > uint(hi) || hi > len(s) {
		return ""
	}
	return s[lo:hi]
}

// key returns the i-th key of an object.
func (c *container) key(i int) string {
	lo := 0
	if i > 0 {
		lo = offset(c.heads, i-1, c.width)
	}
	return part(c.keys, lo, offset(c.heads, i, c.width))
}

// val returns the i-th element or value.
func (c *container) val(i int) Doc {
	at, lo := i, 0
	if c.keyed {
		at += c.n
	}
	if i > 0 {
		lo = offset(c.heads, at-1, c.width)
	}
	return Doc(part(c.vals, lo, offset(c.heads, at, c.width)))
}

// find returns the position of key among the keys, by binary search.
func (c *container) find(key string) (int, bool) {
	lo, hi := 0, c.n
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch k := c.key(mid); {
		case len(k) == len(key) && k == key:
			return mid, true
		case len(k) < len(key) || len(k) == len(key) && k < key:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return lo, false
}

// compareKeys is the order in which an object stores its keys.
func compareKeys(a, b string) int {
	if len(a) != len(b) {
		return cmp.Compare(len(a), len(b))
	}
	return cmp.Compare(a, b)
}

// cursor walks a container once, forwards only, so that a damaged table cannot make a walk longer
// than the value (J2).
type cursor struct {
	container
	i      int
	keyEnd int
	valEnd int
}

func (d Doc) cursor() cursor { return cursor{container: d.open()} }

// next returns the following pair; an array's key is empty.
func (c *cursor) next() (key string, val Doc, ok bool) {
	if c.i >= c.n {
		return "", "", false
	}
	at := c.i
	if c.keyed {
		end := offset(c.heads, at, c.width)
		if end < c.keyEnd || end > len(c.keys) {
			return "", "", false
		}
		key, c.keyEnd = c.keys[c.keyEnd:end], end
		at += c.n
	}
	end := offset(c.heads, at, c.width)
	if end < c.valEnd || end > len(c.vals) {
		return "", "", false
	}
	val, c.valEnd = Doc(c.vals[c.valEnd:end]), end
	c.i++
	return key, val, true
}
