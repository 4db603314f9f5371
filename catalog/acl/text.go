package acl

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// String returns the text form of an item, as "alice=arw*/bob". name returns the name of a role, "" if
// it does not exist; then its number is shown.
func (x Item) String(name func(uint32) string) string {
	var b strings.Builder
	if x.Grantee != Public {
		writeName(&b, name(x.Grantee))
	}
	b.WriteByte('=')
	for i := range len(letters) {
		if x.Mode&(1<<i) != 0 {
			b.WriteByte(letters[i])
		}
		if x.Mode.Granted()&(1<<i) != 0 {
			b.WriteByte('*')
		}
	}
	b.WriteByte('/')
	writeName(&b, name(x.Grantor))
	return b.String()
}

// writeName writes a role's name, quoted if it has other characters than letters, digits and _
// (putid).
func writeName(b *strings.Builder, name string) {
	safe := true
	for i := range len(name) {
		c := name[i]
		safe = safe && (c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}
	if safe {
		b.WriteString(name)
		return
	}
	b.WriteString(`"` + strings.ReplaceAll(name, `"`, `""`) + `"`)
}

// Parse reads the text form of an item. find returns the number of a role by its name.
func Parse(text string, find func(string) (uint32, error)) (x Item, noGrantor bool, err error) {
	name, rest, err := readName(strings.TrimLeft(text, " \t\n"))
	if err != nil {
		return x, false, err
	}
	if rest = strings.TrimLeft(rest, " \t\n"); !strings.HasPrefix(rest, "=") {
		if name != "group" && name != "user" {
			return x, false, pgerr.New(pgerr.InvalidTextRepresentation, `unrecognized key word: "%s"`, name).
				WithHint(`ACL key word must be "group" or "user".`)
		}
		if name, rest, err = readName(rest); err != nil {
			return x, false, err
		}
		if name == "" {
			return x, false, pgerr.New(pgerr.InvalidTextRepresentation, "missing name").
				WithHint(`A name must follow the "group" or "user" key word.`)
		}
		rest = strings.TrimLeft(rest, " \t\n")
	}
	if !strings.HasPrefix(rest, "=") {
		return x, false, pgerr.New(pgerr.InvalidTextRepresentation, `missing "=" sign`)
	}
	rest, last := rest[1:], Mode(0)
	for ; rest != "" && (isLetter(rest[0]) || rest[0] == '*'); rest = rest[1:] {
		if rest[0] == '*' {
			x.Mode |= last.Options()
			continue
		}
		i := strings.IndexByte(letters, rest[0])
		if i < 0 {
			return x, false, pgerr.New(pgerr.InvalidTextRepresentation, `invalid mode character: must be one of "%s"`,
				letters)
		}
		last = 1 << i
		x.Mode |= last
	}
	if name != "" {
		if x.Grantee, err = find(name); err != nil {
			return x, false, err
		}
	}
	if after, ok := strings.CutPrefix(rest, "/"); ok {
		var grantor string
		if grantor, rest, err = readName(after); err != nil {
			return x, false, err
		}
		if grantor == "" {
			return x, false, pgerr.New(pgerr.InvalidTextRepresentation, `a name must follow the "/" sign`)
		}
		if x.Grantor, err = find(grantor); err != nil {
			return x, false, err
		}
	} else {
		noGrantor = true
	}
	if strings.TrimLeft(rest, " \t\n") != "" {
		return x, false, pgerr.New(pgerr.InvalidTextRepresentation, "extra garbage at the end of the ACL specification")
	}
	return x, noGrantor, nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// maxName is NAMEDATALEN - 1.
const maxName = 63

// readName reads a role's name (getid).
func readName(s string) (name, rest string, err error) {
	s = strings.TrimLeft(s, " \t\n")
	quoted := false
	var b strings.Builder
	i := 0
	for ; i < len(s); i++ {
		c := s[i]
		if c == '"' {
			if quoted && i+1 < len(s) && s[i+1] == '"' {
				b.WriteByte('"')
				i++
				continue
			}
			quoted = !quoted
			continue
		}
		if !quoted && !(c == '_' || c >= '0' && c <= '9' || isLetter(c)) {
			break
		}
		b.WriteByte(c)
	}
	if b.Len() > maxName {
		return "", "", pgerr.New(pgerr.NameTooLong, "identifier too long").
			WithDetail("Identifier must be less than %d characters.", maxName+1)
	}
	return b.String(), s[i:], nil
}
