package ddl

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
)

// isAttribute tells whether the parser gives as a constraint what is said of the constraint before it.
func isAttribute(k *pg_query.Constraint) bool {
	switch k.Contype {
	case pg_query.ConstrType_CONSTR_ATTR_DEFERRABLE, pg_query.ConstrType_CONSTR_ATTR_DEFERRED,
		pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE, pg_query.ConstrType_CONSTR_ATTR_IMMEDIATE:
		return true
	}
	return false
}

// attributeNames spell them.
var attributeNames = map[pg_query.ConstrType]string{
	pg_query.ConstrType_CONSTR_ATTR_DEFERRABLE: "DEFERRABLE", pg_query.ConstrType_CONSTR_ATTR_DEFERRED: "INITIALLY DEFERRED",
	pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE: "NOT DEFERRABLE", pg_query.ConstrType_CONSTR_ATTR_IMMEDIATE: "INITIALLY IMMEDIATE",
}

// attribute is DEFERRABLE and its kin after a constraint of a column.
func (d *draft) attribute(k *pg_query.Constraint) error {
	deferrable, deferred := k.Contype == pg_query.ConstrType_CONSTR_ATTR_DEFERRABLE, k.Contype == pg_query.ConstrType_CONSTR_ATTR_DEFERRED
	switch d.last {
	case pg_query.ConstrType_CONSTR_UNIQUE:
		u := &d.uniques[len(d.uniques)-1]
		u.deferrable, u.deferred = u.deferrable || deferrable || deferred, u.deferred || deferred
		u.fixed = u.fixed || k.Contype == pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE
		if u.fixed && u.deferred {
			return pgerr.New(pgerr.SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE").At(d.pos(k.Location))
		}
	case pg_query.ConstrType_CONSTR_FOREIGN:
		f := &d.foreign[len(d.foreign)-1]
		f.deferrable, f.deferred = f.deferrable || deferrable || deferred, f.deferred || deferred
		f.fixed = f.fixed || k.Contype == pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE
		if f.fixed && f.deferred {
			return pgerr.New(pgerr.SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE").At(d.pos(k.Location))
		}
	case pg_query.ConstrType_CONSTR_PRIMARY:
		if deferrable || deferred {
			return unsupportedDeferral().At(d.pos(k.Location))
		}
	default:
		return pgerr.New(pgerr.SyntaxError, "misplaced %s clause", attributeNames[k.Contype]).At(d.pos(k.Location))
	}
	return nil
}

func unsupportedDeferral() *pgerr.Error {
	return pgerr.Unsupported("primary keys that are DEFERRABLE are not supported yet").WithHint("Use UNIQUE DEFERRABLE with NOT NULL.")
}
