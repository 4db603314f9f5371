package ddl

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
)

// longNames gives the notices for names that the parser has cut to what fits.
func longNames(text string) []*pgerr.Error {
	if len(text) <= maxName {
		return nil
	}
	tokens, err := pg_query.Scan(text)
	if err != nil {
		return nil
	}
	var out []*pgerr.Error
	for _, t := range tokens.Tokens {
		if t.Token != pg_query.Token_IDENT || t.End-t.Start <= maxName || int(t.End) > len(text) {
			continue
		}
		name := text[t.Start:t.End]
		if strings.HasPrefix(name, `"`) {
			name = strings.ReplaceAll(strings.Trim(name, `"`), `""`, `"`)
		} else {
			name = lowerASCII(name)
		}
		if len(name) > maxName {
			n := pgerr.New(pgerr.NameTooLong, `identifier "%s" will be truncated to "%s"`, name, clip(name, maxName))
			n.Severity = "NOTICE"
			out = append(out, n)
		}
	}
	return out
}

// lowerASCII folds a name as the parser does.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
