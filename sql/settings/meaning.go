package settings

import (
	"cmp"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Fragment restricts what the statements of a client read to the rows in some fragments. Statements
// of the server itself (foreign keys, jobs, proofs, definitions) read everything.
const Fragment = "sherd.fragment"

// AllowPartial is the parameter that lets statements that only read answer without fragments that
// cannot be reached.
const AllowPartial = "sherd.allow_partial"

// FragmentList splits a value of sherd.fragment.
func FragmentList(value string) []string {
	var out []string
	for _, name := range strings.Split(value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// OnOff returns the canonical value of a parameter of type bool.
func OnOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// checkMeaning refuses values that have the right type but no meaning, and values that are not
// supported.
func checkMeaning(name, value string) (string, error) {
	switch name {
	case "TimeZone", "log_timezone":
		return checkTimeZone(name, value)
	case "client_encoding":
		plain := strings.NewReplacer("-", "", "_", "").Replace(strings.Trim(value, "'"))
		switch strings.ToUpper(plain) {
		case "UTF8", "UNICODE":
			return "UTF8", nil
		case "SQLASCII":
			return "SQL_ASCII", nil
		}
		return "", pgerr.Unsupported("client encoding %q is not supported yet", value).WithHint("Use UTF8.")
	case "application_name":
		return printable(value), nil
	case Fragment:
		return strings.Join(FragmentList(value), ", "), nil
	}
	return value, nil
}

// printable returns an application's name in a form fit for logs, as PostgreSQL does: ASCII, at
// most as long as an identifier.
func printable(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '?'
		}
	}
	return string(b[:min(len(b), maxName)])
}

const maxName = 63 // bytes of an identifier

// canonicalDateStyle returns a value of DateStyle in full. What it does not name stays as it is in
// now.
func canonicalDateStyle(parameter, value, now string) (string, error) {
	style, order, _ := strings.Cut(now, ", ")
	var gotStyle, gotOrder string
	refused := func(detail string, args ...any) error {
		return pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": "%s"`, parameter, value).
			WithDetail(detail, args...)
	}
	for _, w := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }) {
		newStyle, newOrder := "", ""
		switch u := strings.ToUpper(w); {
		case u == "ISO" || u == "SQL":
			newStyle = u
		case u == "GERMAN":
			newStyle = "German"
		case strings.HasPrefix(u, "POSTGRES"):
			newStyle = "Postgres"
		case u == "MDY" || u == "US" || strings.HasPrefix(u, "NONEURO"):
			newOrder = "MDY"
		case u == "DMY" || strings.HasPrefix(u, "EURO"):
			newOrder = "DMY"
		case u == "YMD":
			newOrder = "YMD"
		case u == "DEFAULT":
			style, order = "ISO", "MDY"
		default:
			return "", refused("Unrecognized key word: \"%s\".", strings.ToLower(w))
		}
		other := func(a, b string) bool { return a != "" && b != "" && a != b }
		if other(newStyle, gotStyle) || other(newOrder, gotOrder) {
			return "", refused(`Conflicting "datestyle" specifications.`)
		}
		gotStyle, gotOrder = cmp.Or(newStyle, gotStyle), cmp.Or(newOrder, gotOrder)
	}
	if gotStyle == "German" {
		order = "DMY"
	}
	return cmp.Or(gotStyle, style) + ", " + cmp.Or(gotOrder, order), nil
}
