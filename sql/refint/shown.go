package refint

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/catalog"
)

// quoted quotes a name as PostgreSQL's own statements do, which always quote.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

const operator = " OPERATOR(pg_catalog.=) "

// shownLook returns the lookup of a key: columns before the values.
func (k *Key) shownLook() string {
	var conds []string
	for i, c := range k.Referenced {
		conds = append(conds, fmt.Sprintf("%s%s$%d", quoted(c.Name), operator, i+1))
	}
	return "SELECT 1 FROM ONLY " + quoted(k.ParentSchema) + "." + quoted(k.Parent.Name) + " x WHERE " +
		strings.Join(conds, " AND ") + " FOR KEY SHARE OF x"
}

// shownRows returns a statement about the rows that refer to a key: the values, from $first on,
// before the columns.
func (k *Key) shownRows(head string, first int, tail string) string {
	var conds []string
	for i, c := range k.Columns {
		conds = append(conds, fmt.Sprintf("$%d%s%s", first+i, operator, quoted(c.Name)))
	}
	return fmt.Sprintf(head, "ONLY "+quoted(k.ChildSchema)+"."+quoted(k.Child.Name)) + " WHERE " +
		strings.Join(conds, " AND ") + tail
}

func (k *Key) shownSet(value func(i int) string, columns []*catalog.Column, first int) string {
	var set []string
	for i, c := range columns {
		set = append(set, quoted(c.Name)+" = "+value(i))
	}
	return k.shownRows("UPDATE %s SET "+strings.ReplaceAll(strings.Join(set, ", "), "%", "%%"), first, "")
}
