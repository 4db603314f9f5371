package plan

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// route reads from the conditions on one table which buckets can hold rows that meet them (SPEC 4). Conditions are over the scan's Slots.
func (p *planner) route(s *Scan, conds []query.Expr) Route {
	r := Route{Table: s.Table}
	for _, c := range conds {
		if k, ok := c.(*query.Const); ok && (k.Value.IsNull() || !k.Value.Bool()) {
			r.Never = true
		}
	}
	m := matcher{s: s, conds: conds}
	m.keys(&r)
	m.content(&r)
	m.bucketInterval(&r)
	return r
}

// matcher looks through the conditions on a scan.
type matcher struct {
	s     *Scan
	conds []query.Expr
}

// position gives the table column that e reads, -1 for anything else.
func (m *matcher) position(e query.Expr) int {
	if sl, ok := bare(e).(*Slot); ok && sl.N < len(m.s.Slots) {
		return m.s.Slots[sl.N]
	}
	return -1
}

// known tells whether e has its value before the scan begins.
func known(e query.Expr) bool {
	return !query.Contains(e, func(x query.Expr) bool {
		switch n := x.(type) {
		case *Slot, *SubPlan, *query.Element, *query.SubColumn:
			return true
		case *query.Call:
			return n.Proc.Volatility == 'v' || n.Proc.RetSet
		}
		return false
	})
}

// keys finds equality on the whole primary key.
func (m *matcher) keys(r *Route) {
	cols := keyPositions(m.s.Table)
	if len(cols) == 0 {
		return
	}
	tuple := make([]query.Expr, len(cols))
	for i, c := range cols {
		tuple[i] = m.equals(c)
		if tuple[i] == nil && len(cols) == 1 {
			r.KeyArray = m.among(c)
		}
		if tuple[i] == nil {
			return
		}
	}
	r.Keys = [][]query.Expr{tuple}
}

// equals finds `column = value` with the column's own type.
func (m *matcher) equals(col int) query.Expr {
	for _, c := range m.conds {
		call, ok := c.(*query.Call)
		if !ok || call.Op != "=" || len(call.Args) != 2 {
			continue
		}
		for i, side := range call.Args {
			v := call.Args[1-i]
			if m.position(side) == col && known(v) && m.keyLike(col, v.Type()) {
				return v
			}
		}
	}
	return nil
}

// among finds `column = ANY (array)`.
func (m *matcher) among(col int) query.Expr {
	for _, c := range m.conds {
		a, ok := c.(*query.ArrayOp)
		if ok && !a.All && a.Op == "=" && m.position(a.Left) == col && known(a.Array) && a.Left.Type() == m.valueType(col) {
			return a.Array
		}
	}
	return nil
}

func (m *matcher) valueType(col int) types.OID {
	t := m.s.Table.Columns[col].Type
	if t == types.VarChar {
		return types.Text
	}
	return t
}

// keyLike tells whether values of type oid, compared with the column, are encoded as the column's own values are.
func (m *matcher) keyLike(col int, oid types.OID) bool {
	t := m.valueType(col)
	return t == oid || oid == m.s.Table.Columns[col].Type || integer(t) && integer(oid) && t > 0 && width(oid) <= width(t)
}

func width(oid types.OID) int {
	switch oid {
	case types.Int2:
		return 2
	case types.Int4:
		return 4
	}
	return 8
}

// content finds text equality on every field of a trusted policy.
func (m *matcher) content(r *Route) {
	t := m.s.Table
	if !trusted(t) {
		return
	}
	values := make([][]query.Expr, len(t.Policy.Fields))
	arrays := make([]query.Expr, len(t.Policy.Fields))
	for i, f := range t.Policy.Fields {
		v, arr := m.fieldValue(f)
		if v == nil && arr == nil {
			return
		}
		if v != nil {
			values[i] = []query.Expr{v}
		}
		arrays[i] = arr
	}
	r.Content, r.ContentArray = values, arrays
}

func (m *matcher) fieldValue(f shardmap.Field) (value, array query.Expr) {
	for _, c := range m.conds {
		switch n := c.(type) {
		case *query.Call:
			if v := m.fieldEquals(n, f); v != nil {
				return v, nil
			}
		case *query.ArrayOp:
			if !n.All && n.Op == "=" && n.Left.Type() == types.Text && known(n.Array) && m.isField(n.Left, f, true) {
				return nil, n.Array
			}
		}
	}
	return nil, nil
}

// fieldEquals reads `doc ->> 'F' = v`, `doc -> 'F' = v`, `doc @> '{"F": v}'` and `column = v`.
func (m *matcher) fieldEquals(c *query.Call, f shardmap.Field) query.Expr {
	if len(c.Args) != 2 {
		return nil
	}
	if c.Op == "@>" && c.Proc.Src == "jsonb_contains" && m.position(c.Args[0]) == documentPosition(m.s.Table) {
		return contained(c.Args[1], f.Path)
	}
	if c.Op != "=" {
		return nil
	}
	for i, side := range c.Args {
		v := c.Args[1-i]
		if !known(v) {
			continue
		}
		switch {
		case side.Type() == types.Text && v.Type() == types.Text && m.isField(side, f, true):
			return v
		case side.Type() == types.JSONB && v.Type() == types.JSONB && m.isField(side, f, false):
			return v
		case m.isPolicyColumn(side, f) && m.keyLike(m.position(side), v.Type()):
			return v
		}
	}
	return nil
}

func (m *matcher) isPolicyColumn(e query.Expr, f shardmap.Field) bool {
	pos := m.position(e)
	return pos >= 0 && policyColumn(m.s.Table, f) == pos && m.s.Table.Columns[pos].Type != types.JSONB
}

// isField tells whether e reads f's path from the document, as text or as jsonb.
func (m *matcher) isField(e query.Expr, f shardmap.Field, text bool) bool {
	if policyColumn(m.s.Table, f) >= 0 {
		return false
	}
	path, isText, base := documentPath(e)
	return base != nil && isText == text && m.position(base) == documentPosition(m.s.Table) && equalPaths(path, f.Path)
}

// isPolicyField is the same for a condition that still has Vars.
func isPolicyField(l *level, e query.Expr, rel, field int) bool {
	t := l.q.Rels[rel].Table
	f := t.Policy.Fields[field]
	if pos := policyColumn(t, f); pos >= 0 {
		return isColumn(e, varKey{rel, pos}) && e.Type() == types.Text
	}
	path, text, base := documentPath(e)
	return base != nil && text && isColumn(base, varKey{rel, documentPosition(t)}) && equalPaths(path, f.Path)
}

// policyColumn gives the position of the column that a policy field names, -1 where it is a path into the document.
func policyColumn(t *catalog.Table, f shardmap.Field) int {
	if len(f.Path) != 1 {
		return -1
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.Dropped && c.Name == f.Path[0] {
			return i
		}
	}
	return -1
}

func documentPosition(t *catalog.Table) int {
	for i := range t.Columns {
		if t.Columns[i].AttNum == t.Document && t.Document > 0 {
			return i
		}
	}
	return -1
}

func equalPaths(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// bucketInterval finds `sherd.bucket(id) >= a` and `< b`.
func (m *matcher) bucketInterval(r *Route) {
	for _, c := range m.conds {
		call, ok := c.(*query.Call)
		if !ok || len(call.Args) != 2 || !m.isBucketOfID(call.Args[0]) || !known(call.Args[1]) || call.Args[1].Type() != types.Int4 {
			continue
		}
		switch call.Op {
		case ">=":
			r.Lo = call.Args[1]
		case "<":
			r.Hi = call.Args[1]
		}
	}
}

func (m *matcher) isBucketOfID(e query.Expr) bool {
	c, ok := e.(*query.Call)
	key := keyPositions(m.s.Table)
	return ok && c.Proc.Namespace == "sherd" && c.Proc.Name == "bucket" && len(c.Args) == 1 && len(key) == 1 &&
		m.s.Table.Anchors && m.position(c.Args[0]) == key[0]
}
