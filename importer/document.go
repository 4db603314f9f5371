package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// document is a line of input made ready for the table: its id, and the document as the JSON text
// of the file, not re-encoded, so that numbers keep their digits.
type document struct {
	line int64
	raw  []byte // the whole line
	id   string
	doc  []byte
}

// member is one member of an object: where its value is, and where the member with its key.
type member struct {
	key        string
	value      []byte
	start, end int
}

// splitDocument finds id and document in a line.
func splitDocument(line []byte, idField, docField string) (id string, doc []byte, err error) {
	if !utf8.Valid(line) {
		return "", nil, errors.New("invalid UTF-8")
	}
	trimmed := bytes.TrimSpace(line)
	if len(trimmed) > 0 && trimmed[0] == '[' {
		return "", nil, errors.New(
			"the line is an array, not an object; one object a line is wanted: jq -c '.[]' FILE makes that of an array",
		)
	}
	if err := validObject(trimmed); err != nil {
		return "", nil, err
	}
	var idMember, docMember *member
	members := objectMembers(trimmed)
	for i := range members { // of several with one name the last holds, as in jsonb
		switch members[i].key {
		case idField:
			idMember = &members[i]
		case docField:
			docMember = &members[i]
		}
	}
	if idMember == nil {
		return "", nil, fmt.Errorf("no field %q, which holds the id", idField)
	}
	if id, err = idText(idMember.value, idField); err != nil {
		return "", nil, err
	}
	if docField == "" {
		return id, withoutMember(trimmed, members, idField), nil
	}
	if docMember == nil {
		return "", nil, fmt.Errorf("no field %q, which holds the document", docField)
	}
	return id, docMember.value, nil
}

func validObject(text []byte) error {
	if json.Valid(text) {
		if text[0] != '{' {
			return errors.New("the line is not a JSON object")
		}
		return nil
	}
	var v any
	err := json.Unmarshal(text, &v)
	if len(text) > 0 && text[0] == '{' && err != nil && err.Error() == "unexpected end of JSON input" {
		return errors.New(
			"invalid JSON: the object does not end on its line; one object a line is wanted: jq -c . FILE makes that",
		)
	}
	return fmt.Errorf("invalid JSON: %w", err)
}

func idText(value []byte, field string) (string, error) {
	switch {
	case value[0] == '"':
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return "", fmt.Errorf("field %q: %w", field, err)
		}
		return s, nil
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		return string(value), nil
	}
	return "", fmt.Errorf("field %q is neither a string nor a number, so it cannot be the id", field)
}

// objectMembers lists the members of an object, whose text is known to be valid JSON.
func objectMembers(text []byte) []member {
	var out []member
	i := skipBlank(text, 1)
	for text[i] != '}' {
		m := member{start: i}
		end := skipValue(text, i)
		m.key = keyText(text[i:end])
		i = skipBlank(text, skipBlank(text, end)+1)
		end = skipValue(text, i)
		m.value, m.end = text[i:end], end
		out = append(out, m)
		if i = skipBlank(text, end); text[i] == ',' {
			i = skipBlank(text, i+1)
		}
	}
	return out
}

func keyText(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return string(quoted)
	}
	return s
}

func skipBlank(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// skipValue returns the position after the value that begins at i.
func skipValue(text []byte, i int) int {
	depth := 0
	for ; ; i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			for !bytes.ContainsRune([]byte(",:}] \t\r\n"), rune(text[i])) {
				i++
			}
			return i
		}
		if depth == 0 {
			return i + 1
		}
	}
}

// withoutMember returns the object's text without the members named so.
func withoutMember(text []byte, members []member, key string) []byte {
	out := make([]byte, 1, len(text))
	out[0] = '{'
	for _, m := range members {
		if m.key == key {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, text[m.start:m.end]...)
	}
	return append(out, '}')
}
