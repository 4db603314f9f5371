package types

import "github.com/sherddb/sherd/jsonb/jsonpath"

// parseJSONPath keeps a path as text that reads back to the same path, which is PostgreSQL's text form but for rare
// parentheses.
func parseJSONPath(s string) (Datum, error) {
	path, err := jsonpath.Parse(s)
	if err != nil {
		return Null, err
	}
	return Datum{S: path.Source()}, nil
}
