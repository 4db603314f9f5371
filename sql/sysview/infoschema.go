package sysview

// schemaSources are the views of information_schema.
func schemaSources() map[string]source { return map[string]source{} }

var emptySchema = map[string]bool{}
