package types

import "github.com/sherddb/sherd/internal/pgerr"

func parseJSONPath(string) (Datum, error) {
	return Null, pgerr.Unsupported("type jsonpath is not supported yet")
}
