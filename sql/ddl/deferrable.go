package ddl

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
)

// isAttribute reports whether a node is an attribute of the constraint before it, which the parser
// returns as a constraint of its own.
func isAttribute(k *pg_query.Constraint) bool {
	switch k.Contype {
	case pg_query.ConstrType_CONSTR_ATTR_DEFERRABLE, pg_query.ConstrType_CONSTR_ATTR_DEFERRED,
		pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE, pg_query.ConstrType_CONSTR_ATTR_IMMEDIATE:
		return true
	}
	return false
}

// attributeNames are the SQL spellings of attributes.
var attributeNames = map[pg_query.ConstrType]string{
	pg_query.ConstrType_CONSTR_ATTR_DEFERRABLE:     "DEFERRABLE",
	pg_query.ConstrType_CONSTR_ATTR_DEFERRED:       "INITIALLY DEFERRED",
	pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE: "NOT DEFERRABLE",
	pg_query.ConstrType_CONSTR_ATTR_IMMEDIATE:      "INITIALLY IMMEDIATE",
}

// attribute applies DEFERRABLE, INITIALLY DEFERRED and their opposites to the constraint before
// them.
func (d *draft) attribute(k *pg_query.Constraint) error {
	deferrable, deferred := k.Contype == pg_query.ConstrType_CONSTR_ATTR_DEFERRABLE,
		k.Contype == pg_query.ConstrType_CONSTR_ATTR_DEFERRED
	switch d.last {
	case pg_query.ConstrType_CONSTR_UNIQUE:
		u := &d.uniques[len(d.uniques)-1]
		u.deferrable, u.deferred = u.deferrable || deferrable || deferred, u.deferred || deferred
		u.fixed = u.fixed || k.Contype == pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE
		if u.fixed && u.deferred {
			return pgerr.New(pgerr.SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE").
				At(d.pos(k.Location))
		}
	case pg_query.ConstrType_CONSTR_FOREIGN:
		f := &d.foreign[len(d.foreign)-1]
		f.deferrable, f.deferred = f.deferrable || deferrable || deferred, f.deferred || deferred
		f.fixed = f.fixed || k.Contype == pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE
		if f.fixed && f.deferred {
			return pgerr.New(pgerr.SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE").
				At(d.pos(k.Location))
		}
	case pg_query.ConstrType_CONSTR_PRIMARY:
		f := d.key
		f.deferrable, f.deferred = f.deferrable || deferrable || deferred, f.deferred || deferred
		f.fixed = f.fixed || k.Contype == pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE
		if f.fixed && f.deferred {
			return pgerr.New(pgerr.SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE").
				At(d.pos(k.Location))
		}
	default:
		return pgerr.New(pgerr.SyntaxError, "misplaced %s clause", attributeNames[k.Contype]).At(d.pos(k.Location))
	}
	return nil
}

// addDeferrableKey adds a DEFERRABLE primary key. Rows may have equal keys until it is checked, so
// they are not stored under it: it is a UNIQUE constraint whose columns are NOT NULL.
func (d *draft) addDeferrableKey(key *pendingKey) error {
	if key.using != "" {
		x, err := d.usable(key.using, key.loc)
		if err != nil {
			return err
		}
		for _, att := range x.Columns {
			key.columns = append(key.columns, d.t.ColumnByNum(att).Name)
		}
	}
	if _, err := d.keyColumns(key); err != nil {
		return err
	}
	k := &pg_query.Constraint{Conname: key.name, Indexname: key.using, Location: key.loc, Deferrable: true,
		Initdeferred: key.deferred}
	u := pendingUnique{k: k, columns: key.columns, deferrable: true, deferred: key.deferred, primary: true}
	d.uniques = append([]pendingUnique{u}, d.uniques...)
	return nil
}
