package tx

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/temporary"
)

// Temporary is what a session has of temporary objects between its transactions: their definitions
// and their rows. It belongs to one environment.
type Temporary struct {
	NewRows func() *temporary.Rows // makes the fragment of the rows, when the first object is created

	objects *catalog.Temporary
	rows    *temporary.Rows
	mu      sync.Mutex    // functions of a statement may ask for definitions in several goroutines
	view    *catalog.View // with the objects; guarded by mu
	onto    *catalog.View // that view was made of; guarded by mu
	nextIDs map[catalog.OID]uint64
}

// newest returns the definitions in force, with the session's temporary objects.
func (e *Environment) newest() *catalog.View {
	v := e.Catalog.View()
	if e.Temporary == nil || e.Temporary.objects == nil {
		return v
	}
	return e.Temporary.on(v, &e.schemaChanges)
}

// View returns the definitions as statements outside of any transaction see them.
func (e *Environment) View() *catalog.View { return e.newest() }

// on returns a view with the session's temporary objects.
func (p *Temporary) on(v *catalog.View, numbers interface{ Add(uint64) uint64 }) *catalog.View {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.onto == v {
		return p.view
	}
	version := uint64(0)
	if p.onto != nil && p.onto.DefinitionVersion() == v.DefinitionVersion() {
		version = p.view.DefinitionVersion()
	} else {
		version = uncommittedVersion | numbers.Add(1)
	}
	with, err := p.objects.On(v, version)
	if err != nil { // the names and numbers are the session's own
		panic("tx: temporary objects cannot be added to the definitions: " + err.Error())
	}
	p.view, p.onto = with, v
	return with
}

// Size returns the size of a temporary table; ok is false for other tables.
func (p *Temporary) Size(storage uint32) (size temporary.Size, ok bool) {
	if p == nil || p.rows == nil {
		return size, false
	}
	return p.rows.Size(storage)
}

// Close removes the rows when the session ends.
func (p *Temporary) Close() {
	if p != nil && p.rows != nil {
		p.rows.Close()
		p.rows = nil
	}
}

// NextTemporaryID returns the number for the next id of a temporary table.
func NextTemporaryID(t *Tx, table catalog.OID) uint64 {
	p := t.env.Temporary
	if p.nextIDs == nil {
		p.nextIDs = map[catalog.OID]uint64{}
	}
	p.nextIDs[table]++
	return p.nextIDs[table]
}

// Drop drops all temporary objects of the session, in a transaction.
func (p *Temporary) Drop(ctx context.Context, t *Tx) error {
	return t.ChangeSchema(ctx, func(v *catalog.View, ch *catalog.Change) error {
		s := v.SchemaByName(t.env.Database, catalog.TemporarySchema)
		if s == nil {
			return nil
		}
		for x := range v.TablesIn(s.OID) {
			ch.DropTable(x.OID)
		}
		for x := range catalog.TypesOf(v, t.env.Database) {
			if x.Schema == s.OID {
				x.Drop(ch)
			}
		}
		for x := range catalog.FunctionsOf(v, t.env.Database) {
			if x.Schema == s.OID {
				x.Drop(ch)
			}
		}
		return nil
	})
}

// join adds the fragment of temporary tables to a transaction.
func (p *Temporary) join(t *Tx) {
	if p.rows == nil {
		p.rows = p.NewRows()
	}
	if _, ok := t.Parts.(*temporary.Transaction); ok {
		return
	}
	w := p.rows.Join(t.Parts)
	t.Parts, t.Gateway.Fragment = w, w.Fragment
}

// Shared returns what a transaction changes of definitions that all sessions have, nil if that is
// nothing.
func (p *Temporary) Shared(t *Tx) *catalog.Change {
	if t.Schema == nil {
		return nil
	}
	if p == nil || p.objects == nil && !t.temporary {
		return t.Schema.Change
	}
	shared, _ := catalog.Apart(t.Schema.Change)
	if shared.Empty() {
		return nil
	}
	return shared
}

// MayPrepare refuses PREPARE TRANSACTION if the transaction has used temporary objects.
func (p *Temporary) MayPrepare(t *Tx) error {
	if t.temporary || t.usesTemporary {
		return pgerr.Unsupported("cannot PREPARE a transaction that has operated on temporary objects")
	}
	return nil
}

// after returns the definitions of temporary objects as they are after a transaction.
func (p *Temporary) after(t *Tx) *catalog.Temporary {
	if t.Schema != nil && t.temporary {
		_, left := catalog.Apart(t.Schema.Change)
		return left
	}
	return p.objects
}

// MayCommit refuses to commit if ON COMMIT would delete rows that others reference.
func (p *Temporary) MayCommit(t *Tx) error {
	if !t.temporary && !t.usesTemporary {
		return nil
	}
	tables := p.after(t).Tables()
	for _, x := range tables {
		for i := range x.Constraints {
			ref := x.Constraints[i].Reference
			if ref == nil || x.OnCommit == catalog.DeleteRows {
				continue
			}
			at := slices.IndexFunc(tables, func(o *catalog.Table) bool { return o.OID == ref.Table })
			if at < 0 || tables[at].OnCommit != catalog.DeleteRows {
				continue
			}
			return pgerr.Unsupported("unsupported ON COMMIT and foreign key combination").
				WithDetail(`Table "%s" references "%s", but they do not have the same ON COMMIT setting.`,
					x.Name, tables[at].Name)
		}
	}
	return nil
}

// Committed makes what a transaction has changed of temporary objects part of the session, after the
// commit, and does what ON COMMIT says.
func (p *Temporary) Committed(t *Tx) {
	if p == nil || p.rows == nil {
		return
	}
	objects := p.after(t)
	emptied := map[uint32]bool{}
	for _, x := range objects.Tables() {
		emptied[x.StorageID] = x.OnCommit == catalog.DeleteRows
	}
	objects, dropped := objects.AfterCommit()
	if t.temporary || dropped {
		p.mu.Lock()
		p.objects, p.view, p.onto = objects, nil, nil
		p.mu.Unlock()
	}
	if !t.temporary && !dropped && !slices.Contains(slices.Collect(maps.Values(emptied)), true) {
		p.rows.End(nil)
		return
	}
	kept := map[uint32]bool{}
	for _, x := range objects.Tables() {
		kept[x.StorageID] = !emptied[x.StorageID]
	}
	p.rows.End(func(storage uint32) bool { return kept[storage] })
}
