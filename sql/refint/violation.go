package refint

import (
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// Missing returns the error for a row that refers to a key that does not exist.
func (k *Key) Missing(key []types.Datum, env *types.Env) *pgerr.Error {
	return k.refused().WithDetail(`Key %s is not present in table "%s".`, keyText(k.Columns, key, env), k.Parent.Name)
}

// Mixed returns the error for a key with some nulls under MATCH FULL.
func (k *Key) Mixed() *pgerr.Error {
	return k.refused().WithDetail("MATCH FULL does not allow mixing of null and nonnull key values.")
}

func (k *Key) refused() *pgerr.Error {
	return k.named(pgerr.New(pgerr.ForeignKeyViolation,
		`insert or update on table "%s" violates foreign key constraint "%s"`, k.Child.Name, k.Con.Name))
}

// Referred returns the error for a deleted key that rows refer to.
func (k *Key) Referred(key []types.Datum, env *types.Env) *pgerr.Error {
	e := pgerr.New(pgerr.ForeignKeyViolation,
		`update or delete on table "%s" violates foreign key constraint "%s" on table "%s"`,
		k.Parent.Name, k.Con.Name, k.Child.Name).
		WithDetail(`Key %s is still referenced from table "%s".`, keyText(k.Referenced, key, env), k.Child.Name)
	return k.named(e)
}

func (k *Key) named(e *pgerr.Error) *pgerr.Error {
	e.Schema, e.Table, e.Constraint = k.ChildSchema, k.Child.Name, k.Con.Name
	return e
}

// keyText returns a key as messages show it: (a, b)=(1, x).
func keyText(columns []*catalog.Column, key []types.Datum, env *types.Env) string {
	names, values := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i], values[i] = c.Name, "null"
		if !key[i].IsNull() {
			values[i] = types.Output(c.Type, key[i], env)
		}
	}
	return "(" + strings.Join(names, ", ") + ")=(" + strings.Join(values, ", ") + ")"
}
