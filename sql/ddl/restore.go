package ddl

import "github.com/sherddb/sherd/sql/query"

// putRestored stores the draft as the table's definition under a new storage id. After the change
// has been made, the rows and all index entries are written there; the old data is deleted when the
// change is in force. A table without rows gets a new storage too, because older versions of rows
// cannot be read by the new definition.
func (d *draft) putRestored() error {
	filled, err := d.filled()
	if err != nil {
		return err
	}
	storage, err := d.newOID()
	if err != nil {
		return err
	}
	if err := d.dropStored(d.was); err != nil {
		return err
	}
	d.t.StorageID = storage
	for i := range d.t.Columns {
		d.t.Columns[i].Missing = nil
	}
	// also without rows: callers that cannot wait for the table's users check it
	d.rewrite = &Rewrite{Table: d.t.OID, Old: d.view, Exprs: d.restoring(), Judge: d.judged}
	if !filled && !d.declaredInvalid {
		d.t.PolicyValidated = d.t.Policy != nil && !d.t.Policy.Mutable
	}
	return d.ch.PutTable(d.t)
}

// restoring returns how each column is computed in the rewrite: a copy, or the statement's
// expression.
func (d *draft) restoring() []query.Expr {
	out := make([]query.Expr, len(d.t.Columns))
	for i := range d.t.Columns {
		col := &d.t.Columns[i]
		switch e := d.becomes[col.AttNum]; {
		case col.Dropped:
		case e != nil:
			out[i] = e
		case i < len(d.was.Columns):
			c := &d.was.Columns[i]
			out[i] = &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Col: i, Name: c.Name}
		}
	}
	return out
}
