package refint

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// Statement is SQL with the types of its parameters.
type Statement struct {
	Text   string
	Params []types.OID
	Shown  string // the text in CONTEXT of errors: the statement that PostgreSQL runs for a row
}

func table(schema string, t *catalog.Table) string {
	return builtin.QuoteIdent(schema) + "." + builtin.QuoteIdent(t.Name)
}

func names(prefix string, columns []*catalog.Column) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = prefix + builtin.QuoteIdent(c.Name)
	}
	return strings.Join(out, ", ")
}

// equal returns the condition that columns equal the parameters from $first on.
func equal(prefix string, columns []*catalog.Column, first int) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = fmt.Sprintf("%s%s = $%d", prefix, builtin.QuoteIdent(c.Name), first+i)
	}
	return strings.Join(out, " AND ")
}

func typesOf(columns []*catalog.Column) []types.OID {
	out := make([]types.OID, len(columns))
	for i, c := range columns {
		out[i] = c.Type
	}
	return out
}

func arrayOf(c *catalog.Column) []types.OID { return []types.OID{types.ArrayTypeOf(c.Type)} }

// Tuples is the number of keys in a Look for several columns.
const Tuples = 32

// Batch is the number of keys that Look and Referring accept at once: any number for single
// columns, for which it is 0; a fixed number for several columns, for which the last key may be
// repeated.
func (k *Key) Batch() int {
	switch {
	case !k.Plain():
		return 1
	case len(k.Columns) == 1:
		return 0
	}
	return Tuples
}

// LookOne finds the key that a row refers to, and locks it against deletion and change.
func (k *Key) LookOne() Statement {
	return Statement{
		"SELECT 1 FROM " + table(k.ParentSchema, k.Parent) + " x WHERE " + equal("x.", k.Referenced, 1) +
			" FOR KEY SHARE OF x", typesOf(k.Columns), k.shownLook(),
	}
}

// Look is LookOne for a batch; it returns the keys that exist.
func (k *Key) Look() Statement {
	head := "SELECT " + names("x.", k.Referenced) + " FROM " + table(k.ParentSchema, k.Parent) + " x WHERE "
	const tail = " FOR KEY SHARE OF x"
	if len(k.Columns) == 1 {
		return Statement{head + "x." + builtin.QuoteIdent(k.Referenced[0].Name) + " = ANY ($1)" + tail,
			arrayOf(k.Columns[0]), k.shownLook()}
	}
	s := Statement{Shown: k.shownLook()}
	var arms []string
	for i := range Tuples {
		arms = append(arms, "("+equal("x.", k.Referenced, i*len(k.Columns)+1)+")")
		s.Params = append(s.Params, typesOf(k.Columns)...)
	}
	s.Text = head + strings.Join(arms, " OR ") + tail
	return s
}

// Back finds a row with a deleted key, because NO ACTION allows inserting the key again before the
// check.
func (k *Key) Back() Statement {
	return Statement{
		"SELECT 1 FROM " + table(k.ParentSchema, k.Parent) + " x WHERE " + equal("x.", k.Referenced, 1) +
			" FOR KEY SHARE OF x", typesOf(k.Referenced), k.shownLook(),
	}
}

// Referring returns the keys of a batch that rows refer to, one column each.
func (k *Key) Referring() Statement {
	column := "x." + builtin.QuoteIdent(k.Columns[0].Name)
	return Statement{
		"SELECT DISTINCT " + column + " FROM " + table(k.ChildSchema, k.Child) + " x WHERE " + column + " = ANY ($1)",
		arrayOf(k.Referenced[0]), k.shownLocked(),
	}
}

// ReferringOne finds a row that refers to a key, and locks it, which waits if the row is being
// deleted.
func (k *Key) ReferringOne() Statement {
	return Statement{
		"SELECT 1 FROM " + table(k.ChildSchema, k.Child) + " x WHERE " + equal("x.", k.Columns, 1) +
			" LIMIT 1 FOR KEY SHARE OF x", typesOf(k.Referenced), k.shownLocked(),
	}
}

// Live reports whether a row of the child still has a key.
func (k *Key) Live() Statement {
	return Statement{"SELECT 1 FROM " + table(k.ChildSchema, k.Child) + " x WHERE " + equal("x.", k.Columns, 1) +
		" LIMIT 1", typesOf(k.Columns), k.shownLocked()}
}

// Delete is ON DELETE CASCADE for one key; with many, for an array of keys of one column.
func (k *Key) Delete(many bool) Statement {
	where, params := k.where(many, 1)
	return Statement{"DELETE FROM " + table(k.ChildSchema, k.Child) + " x WHERE " + where, params,
		k.shownRows("DELETE FROM %s", 1, "")}
}

// Set is SET NULL and SET DEFAULT, for all columns or some.
func (k *Key) Set(value string, only []int16, many bool) Statement {
	var set []string
	var columns []*catalog.Column
	for _, c := range k.Columns {
		if len(only) == 0 || contains(only, c.AttNum) {
			set, columns = append(set, builtin.QuoteIdent(c.Name)+" = "+value), append(columns, c)
		}
	}
	where, params := k.where(many, 1)
	return Statement{
		"UPDATE " + table(k.ChildSchema, k.Child) + " x SET " + strings.Join(set, ", ") + " WHERE " + where, params,
		k.shownSet(func(int) string { return value }, columns, 1),
	}
}

func contains(list []int16, n int16) bool {
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}

func (k *Key) where(many bool, first int) (string, []types.OID) {
	if many {
		return fmt.Sprintf("x.%s = ANY ($%d)", builtin.QuoteIdent(k.Columns[0].Name), first), arrayOf(k.Referenced[0])
	}
	return equal("x.", k.Columns, first), typesOf(k.Referenced)
}

// Move is ON UPDATE CASCADE for one key: the old values, then the new ones.
func (k *Key) Move() Statement {
	var set []string
	for i, c := range k.Columns {
		set = append(set, fmt.Sprintf("%s = $%d", builtin.QuoteIdent(c.Name), len(k.Columns)+i+1))
	}
	return Statement{
		"UPDATE " + table(k.ChildSchema, k.Child) + " x SET " + strings.Join(set, ", ") + " WHERE " +
			equal("x.", k.Columns, 1),
		append(typesOf(k.Referenced), typesOf(k.Referenced)...), k.shownMove(),
	}
}

// MoveAll is Move for many keys at once, in arrays, because updates may swap keys.
func (k *Key) MoveAll() Statement {
	n := len(k.Columns)
	s := Statement{Shown: k.shownMove()}
	var arrays, fields, set, on []string
	for i := range 2 * n {
		arrays, fields = append(arrays, fmt.Sprintf("$%d", i+1)), append(fields, fmt.Sprintf("c%d", i))
		s.Params = append(s.Params, arrayOf(k.Referenced[i%n])...)
	}
	for i, c := range k.Columns {
		set = append(set, fmt.Sprintf("%s = m.c%d", builtin.QuoteIdent(c.Name), n+i))
		on = append(on, fmt.Sprintf("x.%s = m.c%d", builtin.QuoteIdent(c.Name), i))
	}
	s.Text = "UPDATE " + table(k.ChildSchema, k.Child) + " x SET " + strings.Join(set, ", ") + " FROM unnest(" +
		strings.Join(arrays, ", ") + ") AS m(" +
		strings.Join(fields, ", ") + ") WHERE " + strings.Join(on, " AND ")
	return s
}

// Orphans returns the keys of rows that refer to no row, in order. A foreign key is proved if there
// are none. limit 0 means all.
func (k *Key) Orphans(limit int) string {
	var on, order []string
	for i, c := range k.Columns {
		on = append(on, "p."+builtin.QuoteIdent(k.Referenced[i].Name)+" = c."+builtin.QuoteIdent(c.Name))
		order = append(order, fmt.Sprint(i+1))
	}
	text := "SELECT " + names("c.", k.Columns) + " FROM " + table(k.ChildSchema, k.Child) + " c LEFT JOIN " +
		table(k.ParentSchema, k.Parent) +
		" p ON " + strings.Join(on, " AND ") + " WHERE p." + builtin.QuoteIdent(k.Referenced[0].Name) +
		" IS NULL AND " + k.mustExist() +
		" ORDER BY " + strings.Join(order, ", ")
	if limit > 0 {
		text += fmt.Sprintf(" LIMIT %d", limit)
	}
	return text
}

// Count counts the rows that must refer to a row.
func (k *Key) Count() string {
	return "SELECT count(*) FROM " + table(k.ChildSchema, k.Child) + " c WHERE " + k.mustExist()
}

// mustExist returns the condition that the key of row c must exist in the referenced table.
func (k *Key) mustExist() string {
	var held []string
	for _, c := range k.Columns {
		held = append(held, "c."+builtin.QuoteIdent(c.Name)+" IS NOT NULL")
	}
	word := " AND "
	if k.Con.Reference.Match == catalog.MatchFull {
		word = " OR "
	}
	return "(" + strings.Join(held, word) + ")"
}

// Broken returns the error for a key that Orphans returns.
func (k *Key) Broken(key []types.Datum, env *types.Env) *pgerr.Error {
	for _, d := range key {
		if d.IsNull() {
			return k.Mixed()
		}
	}
	return k.Missing(key, env)
}

func (k *Key) shownLocked() string {
	return k.shownRows("SELECT 1 FROM %s x", 1, " FOR KEY SHARE OF x")
}

func (k *Key) shownMove() string {
	return k.shownSet(func(i int) string { return fmt.Sprintf("$%d", i+1) }, k.Columns, len(k.Columns)+1)
}
