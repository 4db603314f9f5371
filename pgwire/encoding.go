package pgwire

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// canonicalEncoding returns the name of a supported client_encoding. Names compare as in
// PostgreSQL: letters and digits alone.
func canonicalEncoding(name string) (string, error) {
	key := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, name)
	switch key {
	case "utf8", "unicode":
		return "UTF8", nil
	case "sqlascii":
		return "SQL_ASCII", nil
	}
	return "", pgerr.Unsupported("client_encoding %q is not supported", name).WithHint(
		"Use UTF8; clients convert from and to it.",
	)
}
