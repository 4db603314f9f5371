package sysview

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// source adds the rows of a relation that are not embedded.
type source = func(b *builder) error

// Rows gives the rows of a relation, named schema.name, all its columns in order. A row is valid during emit.
func Rows(name string, env *Env, emit func(Row) error) error {
	schema, bare, _ := strings.Cut(name, ".")
	rel := pgcatalog.RelationByName(schema, bare)
	if rel == nil {
		return pgerr.New(pgerr.UndefinedTable, `relation "%s" does not exist`, name)
	}
	src, known := sources[name]
	embedded := schema == pgCatalog && pgcatalog.HasRows(bare)
	if !known && !embedded {
		return pgerr.Unsupported("%s is not supported yet", name)
	}
	if embedded && !replaced[name] {
		for _, row := range staticRows(bare) {
			if err := emit(row); err != nil {
				return err
			}
		}
	}
	if src == nil {
		return nil
	}
	return src(newBuilder(env, rel, emit))
}

// replaced are relations whose embedded rows are not given as they are: the source makes all rows.
var replaced = map[string]bool{
	"pg_catalog.pg_settings": true, "pg_catalog.pg_namespace": true,
}

// sources are the relations with rows that are not embedded.
var sources = map[string]source{
	"pg_catalog.pg_class":      pgClass,
	"pg_catalog.pg_namespace":  pgNamespace,
	"pg_catalog.pg_attribute":  pgAttribute,
	"pg_catalog.pg_attrdef":    pgAttrdef,
	"pg_catalog.pg_constraint": pgConstraint,
	"pg_catalog.pg_index":      pgIndex,
	"pg_catalog.pg_type":       pgType,
}
