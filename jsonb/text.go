package jsonb

// Text returns the value as PostgreSQL prints jsonb: one line, ", " between entries and ": " after
// keys.
func (d Doc) Text() string { return string(d.AppendText(make([]byte, 0, len(d)+len(d)/8+16))) }

// AppendText appends the text form to dst.
func (d Doc) AppendText(dst []byte) []byte { return appendText(dst, d, 0) }

func appendText(dst []byte, d Doc, depth int) []byte {
	switch d.Kind() {
	case Null:
		return append(dst, "null"...)
	case String:
		return AppendQuoted(dst, string(d[1:]))
	case Array, Object:
		return appendContainer(dst, d, depth)
	}
	s, _ := d.Scalar()
	return append(dst, s...)
}

func appendContainer(dst []byte, d Doc, depth int) []byte {
	c := d.cursor()
	if depth >= MaxDepth { // J1: only a damaged value comes here
		c.n = 0
	}
	open, end := byte('['), byte(']')
	if c.keyed {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	for i := 0; ; i++ {
		key, val, ok := c.next()
		if !ok {
			return append(dst, end)
		}
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if c.keyed {
			dst = append(AppendQuoted(dst, key), ": "...)
		}
		dst = appendText(dst, val, depth+1)
	}
}

// Pretty returns the indented form of jsonb_pretty. It calls check once in a megabyte and returns
// its error; a nil check is not called.
func (d Doc) Pretty(check func() error) (string, error) {
	p := prettyPrinter{check: check, look: checkEvery}
	if err := p.print(d, 0); err != nil {
		return "", err
	}
	return string(p.dst), nil
}

type prettyPrinter struct {
	dst   []byte
	check func() error
	look  int // length at which check is called next
}

func (p *prettyPrinter) print(d Doc, depth int) error {
	if len(p.dst) >= p.look && p.check != nil {
		p.look = len(p.dst) + checkEvery
		if err := p.check(); err != nil {
			return err
		}
	}
	if !d.IsContainer() || depth >= MaxDepth {
		p.dst = appendText(p.dst, d, depth)
		return nil
	}
	c := d.cursor()
	open, end := byte('['), byte(']')
	if c.keyed {
		open, end = '{', '}'
	}
	p.dst = append(p.dst, open)
	for i := 0; ; i++ {
		key, val, ok := c.next()
		if !ok {
			break
		}
		if i > 0 {
			p.dst = append(p.dst, ',')
		}
		p.dst = appendIndent(p.dst, depth+1)
		if c.keyed {
			p.dst = append(AppendQuoted(p.dst, key), ": "...)
		}
		if err := p.print(val, depth+1); err != nil {
			return err
		}
	}
	p.dst = append(appendIndent(p.dst, depth), end)
	return nil
}

func appendIndent(dst []byte, depth int) []byte {
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, "    "...)
	}
	return dst
}

// AppendQuoted appends s as a JSON string, escaped as PostgreSQL does: the quote, the backslash and
// control characters.
func AppendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for {
		i := plainPrefix(s)
		dst = append(dst, s[:i]...)
		if i == len(s) {
			return append(dst, '"')
		}
		c := s[i]
		s = s[i+1:]
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
}

// plainPrefix returns how many bytes of s come before the first that a JSON string cannot hold as
// it is: a quote, a backslash or a control character. It looks at eight bytes at a time.
func plainPrefix(s string) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, backslash := x^ones*'"', x^ones*'\\'
		control := (x - ones*0x20) &^ x
		if (control|(quote-ones)&^quote|(backslash-ones)&^backslash)&tops != 0 {
			break
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			break
		}
	}
	return i
}
