package types

import "github.com/sherddb/sherd/jsonb/jsonpath"

// parseJSONPath keeps the text form in the spelling PostgreSQL prints.
func parseJSONPath(s string) (Datum, error) {
	p, err := jsonpath.Parse(s)
	if err != nil {
		return Null, err
	}
	return Datum{K: KindJSONPath, S: p.String()}, nil
}
