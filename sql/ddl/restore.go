package ddl

import "github.com/sherddb/sherd/sql/query"

// putRestored makes the draft the table's definition, under a new storage id: the rows are stored there anew, with all index entries, when the change
// has been made. What is stored under the old one is deleted when the change is in force. A table without rows takes a new storage too: older
// versions of rows cannot be read by the new definition.
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
	d.rewrite = &Rewrite{Table: d.t.OID, Old: d.view, Exprs: d.restoring(), Judge: d.judged} // of no rows too: who cannot wait for users is told by it
	if !filled && !d.doubted {
		d.t.PolicyValidated = d.t.Policy != nil && !d.t.Policy.Mutable
	}
	return d.ch.PutTable(d.t)
}

// restoring gives what becomes of each column: what it has, or what the statement says.
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
