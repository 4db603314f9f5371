package sql

import (
	"context"

	"github.com/cespare/xxhash/v2"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/locks"
)

// draft is what a transaction has changed of the definitions and not committed. Its own statements see it; others do not. The change in it never
// changes, so a savepoint keeps it by keeping the pointer.
type draft struct {
	change *catalog.Change
	view   *catalog.View // what change leads to
	onto   *catalog.View // the newest view of others' changes that was looked at
}

// draftVersion marks definition versions that are no version of the catalog: each draft has its own, so no plan made for one is taken for
// another's.
const draftVersion = 1 << 63

func (x *services) newDraft(ch *catalog.Change) (*draft, error) {
	view, err := ch.PreviewAs(draftVersion | x.drafts.Add(1))
	if err != nil {
		return nil, err
	}
	return &draft{change: ch, view: view, onto: ch.Base()}, nil
}

// view is the catalog as the running statement sees it.
func (s *Session) view() *catalog.View {
	if s.tx == nil {
		return s.catalog.View()
	}
	return s.tx.view()
}

// view is the catalog as statements of the transaction see it.
func (t *transaction) view() *catalog.View {
	newest := t.env.catalog.View()
	if t.draft == nil {
		return newest
	}
	d := t.draft
	if d.onto.DefinitionVersion() == newest.DefinitionVersion() {
		return d.view
	}
	d.onto = newest
	// Locks keep still what the change touches; where they could not, the commit tells.
	if ch, err := d.change.Rebase(newest); err == nil {
		if moved, err := t.env.newDraft(ch); err == nil {
			*d = *moved
		}
	}
	return d.view
}

// drafted tells whether the transaction sees definitions that are not in force: nothing made of them may be kept for others.
func (s *Session) drafted() bool { return s.tx != nil && s.tx.draft != nil }

// change adds what plan puts and drops to the transaction's change of definitions. Others are kept off what it touches until the transaction ends;
// where one of them came first, plan runs again.
func (t *transaction) change(ctx context.Context, plan func(*catalog.View, *catalog.Change) error) error {
	for {
		view := t.view()
		step := view.Plan()
		if err := plan(view, step); err != nil || step.Empty() {
			return err
		}
		if err := t.keep(ctx, step); err != nil {
			return err
		}
		err := t.extend(step)
		if err == nil || view == t.view() {
			return err
		}
	}
}

// extend makes a step part of the transaction's change, as planned against the newest definitions. An error tells that others have changed what the
// step was planned with, if they have changed anything.
func (t *transaction) extend(step *catalog.Change) error {
	all := step
	if t.draft != nil {
		all = t.draft.change.Then(step)
	}
	all, err := all.Rebase(t.env.catalog.View())
	if err != nil {
		return err
	}
	d, err := t.env.newDraft(all)
	if err == nil {
		t.draft = d
	}
	return err
}

// keep takes the locks of what a step touches. A table that it changes without stopping its users, as a comment does, is kept from other changes.
func (t *transaction) keep(ctx context.Context, step *catalog.Change) error {
	for _, x := range step.Touches() {
		mode := locks.AccessShare
		if x.Changes {
			mode = locks.AccessExclusive
		}
		if x.Table != 0 {
			mode = min(mode, locks.ShareUpdateExclusive)
		}
		if err := t.lock(ctx, touched(t.env.database, x), mode, false); err != nil {
			return err
		}
	}
	return nil
}

// touched names what a change of definitions touches to the table of locks.
func touched(database catalog.OID, x catalog.Touch) locks.Tag {
	switch {
	case x.Table != 0:
		return locks.Table(database, x.Table)
	case x.Name != "":
		return locks.Definition(xxhash.Sum64String(x.Name))
	}
	return locks.Definition(x.Object)
}

// define hands the change over to be committed with the transaction's rows.
func (t *transaction) define() error {
	if t.draft == nil {
		return nil
	}
	for table, next := range t.newIDs {
		t.draft.change.StartIDs(table, next)
	}
	for storage, n := range t.sequences {
		t.draft.change.SetSequence(n.oid, storage, n.state.value, n.state.called)
	}
	ch, err := t.filled.condition(t.draft.change, t.env.database, t.env.catalog.View())
	if err != nil {
		return err
	}
	t.parts.Define(ch)
	return nil
}

// completeID gives a document the id that its client left to the server. Ids of a table that the transaction has made are numbered here: nobody
// else knows the table.
func (s *Session) completeID(ctx context.Context, t *catalog.Table, id string) (string, error) {
	if !s.drafted() || !s.tx.draft.change.Makes(t.OID) {
		return s.db.ids.complete(ctx, t, id)
	}
	if s.tx.newIDs == nil {
		s.tx.newIDs = map[catalog.OID]uint64{}
	}
	n := max(s.tx.newIDs[t.OID], 1)
	full, left := s.db.ids.completeWith(t, id, n)
	if left {
		s.tx.newIDs[t.OID] = n + 1
	}
	return full, nil
}
