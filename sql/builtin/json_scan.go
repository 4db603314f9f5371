package builtin

import (
	"strings"

	"github.com/sherddb/sherd/jsonb"
)

// jsonText is the text of a valid json value. Its parts are found by scanning; they keep their own text, white space and all.
type jsonText string

// trimmed cuts white space off both ends.
func (t jsonText) trimmed() jsonText { return jsonText(strings.Trim(string(t), " \t\n\r")) }

// kind is the first character of the value: { [ " t f n, or of a number.
func (t jsonText) kind() byte {
	if t = t.trimmed(); t == "" {
		return 'n'
	}
	return t[0]
}

// scalarText gives the value as ->> does: a string without its quotes, null as not there.
func (t jsonText) scalarText() (string, bool) {
	t = t.trimmed()
	switch t.kind() {
	case 'n':
		return "", false
	case '"':
		return unquoteJSON(string(t)), true
	}
	return string(t), true
}

// unquoteJSON gives the string that a JSON string means.
func unquoteJSON(quoted string) string {
	if !strings.Contains(quoted, `\`) {
		return quoted[1 : len(quoted)-1]
	}
	d, err := jsonb.Parse(quoted)
	if err != nil { // only \u0000, which json takes and text cannot hold
		return quoted[1 : len(quoted)-1]
	}
	s, _ := d.Str()
	return s
}

// elements walks an array's elements.
func (t jsonText) elements(yield func(jsonText) bool) {
	s := string(t.trimmed())
	for at := skipJSONSpace(s, 1); at < len(s) && s[at] != ']'; {
		end := endOfJSON(s, at)
		if !yield(jsonText(s[at:end])) {
			return
		}
		if at = skipJSONSpace(s, end); at < len(s) && s[at] == ',' {
			at = skipJSONSpace(s, at+1)
		}
	}
}

// pairs walks an object's pairs in the order of the text, equal keys included.
func (t jsonText) pairs(yield func(key string, value jsonText) bool) {
	s := string(t.trimmed())
	for at := skipJSONSpace(s, 1); at < len(s) && s[at] != '}'; {
		end := endOfJSON(s, at)
		key := unquoteJSON(s[at:end])
		at = skipJSONSpace(s, skipJSONSpace(s, end)+1)
		end = endOfJSON(s, at)
		if !yield(key, jsonText(s[at:end])) {
			return
		}
		if at = skipJSONSpace(s, end); at < len(s) && s[at] == ',' {
			at = skipJSONSpace(s, at+1)
		}
	}
}

// field gives the value of a key: of equal keys the last.
func (t jsonText) field(key string) (found jsonText, ok bool) {
	if t.kind() != '{' {
		return "", false
	}
	for k, v := range t.pairs {
		if k == key {
			found, ok = v, true
		}
	}
	return found, ok
}

// element gives an element, from the end where i is negative.
func (t jsonText) element(i int) (found jsonText, ok bool) {
	if t.kind() != '[' {
		return "", false
	}
	if i < 0 {
		for range t.elements {
			i++
		}
	}
	for e := range t.elements {
		if i == 0 {
			return e, true
		}
		i--
	}
	return "", false
}

func skipJSONSpace(s string, at int) int {
	for at < len(s) && isBlank(s[at]) {
		at++
	}
	return at
}

// endOfJSON gives the end of the value that begins at an offset.
func endOfJSON(s string, at int) int {
	depth := 0
	for i := at; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(s))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return len(s)
}
