package catalog

import "strings"

// quoteLiteral quotes a name for a statement in a hint.
func quoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
