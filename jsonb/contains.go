package jsonb

// Has reports whether key is a key of the object d, a string element of the array d or the string d
// itself: the operator ?.
func (d Doc) Has(key string) bool {
	switch d.Kind() {
	case Object:
		_, ok := d.Get(key)
		return ok
	case Array:
		c := d.cursor()
		for {
			_, v, ok := c.next()
			if !ok {
				return false
			}
			if s, isText := v.Str(); isText && s == key {
				return true
			}
		}
	}
	s, ok := d.Str()
	return ok && s == key
}

// HasAny is the operator ?|; the caller leaves out NULL keys.
func (d Doc) HasAny(keys []string) bool {
	for _, k := range keys {
		if d.Has(k) {
			return true
		}
	}
	return false
}

// HasAll is the operator ?&; the caller leaves out NULL keys.
func (d Doc) HasAll(keys []string) bool {
	for _, k := range keys {
		if !d.Has(k) {
			return false
		}
	}
	return true
}

// Contains is the operator @>: every part of b is found in d. An array at the top may contain a
// scalar.
func (d Doc) Contains(b Doc) bool {
	dk, bk := d.Kind(), b.Kind()
	switch {
	case dk == Array && bk < Array:
		return d.hasElement(b)
	case dk != bk:
		return false
	}
	return contains(d, b, 0)
}

func contains(d, b Doc, depth int) bool {
	k := d.Kind()
	switch {
	case k != b.Kind() || depth >= MaxDepth:
		return false
	case k < Array:
		return Equal(d, b)
	}
	part := b.cursor()
	if k == Object {
		whole := d.open()
		if whole.n < part.n {
			return false
		}
		for {
			key, want, ok := part.next()
			if !ok {
				return true
			}
			at, found := whole.find(key)
			if !found || !contains(whole.val(at), want, depth+1) {
				return false
			}
		}
	}
	for {
		_, want, ok := part.next()
		if !ok {
			return true
		}
		if !d.hasPart(want, depth) {
			return false
		}
	}
}

// hasPart reports whether an element of the array d equals the scalar want or contains the
// container want.
func (d Doc) hasPart(want Doc, depth int) bool {
	if !want.IsContainer() {
		return d.hasElement(want)
	}
	c := d.cursor()
	for {
		_, v, ok := c.next()
		if !ok {
			return false
		}
		if contains(v, want, depth+1) {
			return true
		}
	}
}

// hasElement reports whether the array d has an element equal to the scalar want.
func (d Doc) hasElement(want Doc) bool {
	number := want.tag() == tagNumber
	c := d.cursor()
	for {
		_, v, ok := c.next()
		if !ok {
			return false
		}
		if v == want {
			return true
		}
		if number && v.tag() == tagNumber && compareNumbers(string(v[1:]), string(want[1:])) == 0 {
			return true
		}
	}
}
