package tx

import (
	"context"

	"github.com/cespare/xxhash/v2"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/txn/locks"
)

// SchemaChange is what a transaction has changed of the schema and not committed. Its own
// statements see it; others do not. The change in it never changes, so a savepoint keeps it by
// keeping the pointer.
type SchemaChange struct {
	Change *catalog.Change
	View   *catalog.View // what change leads to
	onto   *catalog.View // the newest view of others' changes that was looked at
}

// uncommittedVersion marks definition versions that are no version of the catalog: each
// SchemaChange has its own, so no plan made for one is used for another.
const uncommittedVersion = 1 << 63

func (x *Services) newSchemaChange(ch *catalog.Change) (*SchemaChange, error) {
	view, err := ch.PreviewAs(uncommittedVersion | x.schemaChanges.Add(1))
	if err != nil {
		return nil, err
	}
	return &SchemaChange{Change: ch, View: view, onto: ch.Base()}, nil
}

// Newest is the catalog as it is in force, without what the transaction has changed.
func (t *Tx) Newest() *catalog.View { return t.env.Catalog.View() }

// View is the catalog as statements of the transaction see it.
func (t *Tx) View() *catalog.View {
	newest := t.env.newest()
	if t.Schema == nil {
		return newest
	}
	d := t.Schema
	if d.onto.DefinitionVersion() == newest.DefinitionVersion() {
		return d.View
	}
	d.onto = newest
	// Locks keep still what the change touches; if they could not, the commit fails.
	if ch, err := d.Change.Rebase(newest); err == nil {
		if moved, err := t.env.newSchemaChange(ch); err == nil {
			*d = *moved
		}
	}
	return d.View
}

// ChangeSchema adds what plan puts and drops to the transaction's change of the schema. Locks keep
// others off what it touches until the transaction ends; if one of them came first, plan runs
// again.
func (t *Tx) ChangeSchema(ctx context.Context, plan func(*catalog.View, *catalog.Change) error) error {
	for {
		view := t.View()
		step := view.Plan()
		if err := plan(view, step); err != nil || step.Empty() {
			return err
		}
		if err := t.lockTouched(ctx, step); err != nil {
			return err
		}
		err := t.extend(step)
		if err == nil || view == t.View() {
			return err
		}
	}
}

// extend makes a step part of the transaction's change, as planned against the newest definitions.
// After an error, others may have changed what the step was planned with.
func (t *Tx) extend(step *catalog.Change) error {
	all := step
	if t.Schema != nil {
		all = t.Schema.Change.Then(step)
	}
	all, err := all.Rebase(t.env.newest())
	if err != nil {
		return err
	}
	d, err := t.env.newSchemaChange(all)
	if err != nil {
		return err
	}
	t.Schema = d
	if catalog.ChangesTemporary(step) {
		t.temporary = true
		t.env.Temporary.join(t)
	}
	return nil
}

// lockTouched takes the locks of what a step touches. A table that it changes without stopping its
// users, as a comment does, is kept from other changes.
func (t *Tx) lockTouched(ctx context.Context, step *catalog.Change) error {
	for _, x := range step.Touches() {
		mode := locks.AccessShare
		if x.Changes {
			mode = locks.AccessExclusive
		}
		if x.Table != 0 {
			mode = min(mode, locks.ShareUpdateExclusive)
		}
		if err := t.lock(ctx, Touched(t.env.Database, x), mode, false); err != nil {
			return err
		}
	}
	return nil
}

// Touched is the lock of what a change of definitions touches.
func Touched(database catalog.OID, x catalog.Touch) locks.Tag {
	switch {
	case x.Table != 0:
		return locks.Table(database, x.Table)
	case x.Name != "":
		return locks.Definition(xxhash.Sum64String(x.Name))
	}
	return locks.Definition(x.Object)
}
