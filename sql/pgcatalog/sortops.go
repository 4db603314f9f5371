package pgcatalog

// SortOps is the default btree operator class of a type, for ORDER BY, GROUP BY, DISTINCT and merge
// joins.
type SortOps struct {
	Type           uint32 // the operators' operand type: text for varchar, anyarray for int4[]
	Family         uint32
	Lt, Le, Eq, Ge *Operator
	Gt             *Operator
}

const btree = 403

func (ix *index) loadSortOps() error {
	type key struct{ family, typ uint32 }
	classes := map[key]*SortOps{}
	err := scan("pg_opclass", func(r *record) {
		if r.oid("opcmethod") != btree || !r.bool("opcdefault") {
			return
		}
		s := &SortOps{Type: r.oid("opcintype"), Family: r.oid("opcfamily")}
		ix.sort[s.Type] = s
		classes[key{s.Family, s.Type}] = s
	})
	if err != nil {
		return err
	}
	return scan("pg_amop", func(r *record) {
		s := classes[key{r.oid("amopfamily"), r.oid("amoplefttype")}]
		if s == nil || r.oid("amoprighttype") != s.Type {
			return
		}
		op := ix.ops[r.oid("amopopr")]
		switch r.int("amopstrategy") {
		case 1:
			s.Lt = op
		case 2:
			s.Le = op
		case 3:
			s.Eq = op
		case 4:
			s.Ge = op
		case 5:
			s.Gt = op
		}
	})
}

// SortOpsOf returns the default btree operators of a type, or of a type that it is binary-coercible
// to; nil if values of the type have no order (json, point).
func SortOpsOf(typ uint32) *SortOps {
	ix := catalogs()
	if s := ix.sort[typ]; s != nil {
		return s
	}
	t := TypeByOID(typ)
	switch {
	case t == nil:
		return ix.sort[recordOID] // the row type of a user's table
	case t.Kind == 'd':
		return SortOpsOf(t.BaseType)
	case t.Subscript == "array_subscript_handler":
		if SortOpsOf(t.Elem) == nil {
			return nil
		}
		return ix.sort[anyArrayOID]
	case t.Kind == 'e':
		return ix.sort[anyEnumOID]
	case t.Kind == 'r':
		return ix.sort[anyRangeOID]
	case t.Kind == 'm':
		return ix.sort[anyMultirangeOID]
	case t.Kind == 'c':
		return ix.sort[recordOID]
	}
	return ix.coercibleSort(typ)
}

// coercibleSort returns the operators of an ordered type that typ is binary-coercible to,
// preferably the preferred type of its category.
func (ix *index) coercibleSort(typ uint32) *SortOps {
	var found *SortOps
	for target, s := range ix.sort {
		c := ix.casts[[2]uint32{typ, target}]
		if c == nil || c.Method != 'b' || c.Context != 'i' {
			continue
		}
		if t := ix.types[target]; t != nil && t.Preferred {
			return s
		}
		if found == nil || s.Type < found.Type {
			found = s
		}
	}
	return found
}

const (
	recordOID        = 2249
	anyArrayOID      = 2277
	anyEnumOID       = 3500
	anyRangeOID      = 3831
	anyMultirangeOID = 4537
)
