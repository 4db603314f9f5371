package sql

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/refint"
)

// deferrals are the constraints of a transaction that are checked at its commit, and what waits for that.
type deferrals struct {
	all     byte                 // SET CONSTRAINTS ALL: 'd' deferred, 'i' immediate, 0 as they are defined
	modes   map[catalog.OID]bool // SET CONSTRAINTS of single ones since then; never changed, but replaced
	pending []pendingKeys        // in the order of the statements; entries never change
}

// pendingKeys are keys that one statement has written.
type pendingKeys struct {
	key      *refint.Key
	incoming bool
	changes  []exec.KeyChange
}

// deferred tells whether a constraint is checked at the commit.
func (t *transaction) deferred(con *catalog.Constraint) bool {
	if !con.Deferrable {
		return false
	}
	d := &t.deferrals
	if deferred, ok := d.modes[con.OID]; ok {
		return deferred
	}
	if d.all != 0 {
		return d.all == 'd'
	}
	return con.InitiallyDeferred
}

// defers leaves keys to the commit.
func (t *transaction) defers(key *refint.Key, incoming bool, changes []exec.KeyChange) {
	t.deferrals.pending = append(t.deferrals.pending, pendingKeys{key, incoming, changes})
}

// settleDeferred checks what was deferred, all of it with force, else that of constraints which are immediate now.
func (s *Session) settleDeferred(ctx context.Context, force bool) error {
	t := s.tx
	var waiting, due []pendingKeys
	for _, p := range t.deferrals.pending {
		if force || !t.deferred(p.key.Con) {
			due = append(due, p)
		} else {
			waiting = append(waiting, p)
		}
	}
	if len(due) == 0 {
		return nil
	}
	t.deferrals.pending = waiting
	view := s.view()
	programs := map[catalog.OID]*references{}
	for _, p := range due {
		key := current(view, p.key)
		if key == nil {
			continue // dropped since
		}
		if programs[key.Con.OID] == nil {
			programs[key.Con.OID] = &references{programs: map[string]*program{}}
		}
		k := &keeping{s: s, ctx: ctx, view: view, of: programs[key.Con.OID]}
		var err error
		if p.incoming {
			err = k.refuse(key, catalog.NoAction, p.changes)
		} else {
			err = k.check(key, p.changes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// current gives a foreign key as it is defined now, nil where it is not there any more.
func current(view *catalog.View, key *refint.Key) *refint.Key {
	t := view.Table(key.Child.OID)
	if t == nil {
		return nil
	}
	i := slices.IndexFunc(t.Constraints, func(c catalog.Constraint) bool { return c.OID == key.Con.OID })
	if i < 0 {
		return nil
	}
	return refint.Of(view, t, &t.Constraints[i])
}
