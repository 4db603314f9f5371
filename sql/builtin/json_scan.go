package builtin

import (
	"strings"

	"github.com/sherddb/sherd/jsonb"
)

// jsonText is the text of a valid json value. Its parts are found by scanning and keep their own
// text, including white space.
type jsonText string

// trimmed returns the value without white space at both ends.
func (t jsonText) trimmed() jsonText { return jsonText(strings.Trim(string(t), " \t\n\r")) }

// kind returns the first character of the value: { [ " t f n, or that of a number.
func (t jsonText) kind() byte {
	if t = t.trimmed(); t == "" {
		return 'n'
	}
	return t[0]
}

// scalarText returns the value as ->> does: a string without its quotes; ok is false for null.
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

// unquoteJSON returns the text of a JSON string.
func unquoteJSON(quoted string) string {
	if !strings.Contains(quoted, `\`) {
		return quoted[1 : len(quoted)-1]
	}
	d, err := jsonb.Parse(quoted)
	if err != nil { // only \u0000, which json allows and text does not
		return quoted[1 : len(quoted)-1]
	}
	s, _ := d.Str()
	return s
}

// elements iterates over an array's elements.
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

// pairs iterates over an object's pairs in the order of the text, including equal keys.
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

// field returns the value of a key; of equal keys, the last.
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

// element returns an element; a negative i counts from the end.
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

// endOfJSON returns the end of the value that begins at an offset.
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
