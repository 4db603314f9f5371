package exec

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// rechecks reports whether the statement continues with the newest version of a row that changed
// after its snapshot.
func (c *Ctx) rechecks() bool { return c.Limits.Isolation == txn.ReadCommitted }

// lockRow locks a row of this fragment. changed reports whether it changed after the snapshot, if
// req asks to recheck. Errors name the row and what the statement was doing to it.
func lockRow(c *Ctx, t *table.Table, key []byte, req txn.LockRequest, doing string) (changed bool, err error) {
	over := func(error) {}
	if w := c.Limits.LockWaits; w != nil && !req.NoWait {
		over = w.Watch(func() string { return doing + " " + t.NameOf(c.Env, key) })
	}
	changed, err = c.local.tx.Lock(c.ctx(), key, req)
	over(err)
	if err != nil {
		err = lockError(c, t, key, err, doing)
	}
	return changed, err
}

// lockNew locks the key of a new row, or of an index entry that only one row may have. If another
// transaction held the lock because it was writing the same key, since is the stamp that the
// fragment had applied when the wait began; otherwise it is maxT.
func lockNew(c *Ctx, t *table.Table, key []byte, req txn.LockRequest) (since txn.Timestamp, err error) {
	const doing = "inserting"
	req.NoWait = true
	if _, err = lockRow(c, t, key, req, doing); !errors.Is(err, txn.ErrLocked) {
		return maxT, err
	}
	req.NoWait, since = false, c.local.tx.Applied()
	_, err = lockRow(c, t, key, req, doing)
	return since, err
}

// takenBy adds to the error of a duplicate key the transaction that has written it, if the
// statement has waited for it since then. It does not name a writer that had already committed: its
// lock was only being released, and for the user that row existed before.
func takenBy(c *Ctx, key []byte, since txn.Timestamp, taken error) error {
	if err := unseen(c, key); err != nil {
		return err
	}
	if since == maxT {
		return taken
	}
	_, err := c.local.tx.Lock(c.ctx(), key, txn.LockRequest{Mode: txn.Update, T: 1})
	var by *txn.ConflictError
	var marked *pgerr.Error
	if !errors.As(err, &by) || by.Other.IsZero() || by.Version <= since || !errors.As(taken, &marked) {
		return taken
	}
	e := *marked
	e.Detail += fmt.Sprintf(" Transaction %d wrote it, which committed at %s, while this one waited for it.",
		by.Other.XID(), by.Version)
	return &e
}

// unseen returns an error if the key exists although a SERIALIZABLE transaction has looked for it
// and not found it: no order of the two transactions allows that.
func unseen(c *Ctx, key []byte) error {
	T, ok := c.local.tx.HasRead(key)
	if !ok {
		return nil
	}
	_, err := c.local.tx.Lock(c.ctx(), key, txn.LockRequest{Mode: txn.Update, T: T})
	var met *txn.ConflictError
	if !errors.As(err, &met) {
		return nil
	}
	own := *met
	own.Read = true
	own.Err = pgerr.New(pgerr.SerializationFailure,
		"could not serialize access due to read/write dependencies among transactions").
		WithDetail("%s", own.Detail("Key \\x%x", key)).WithHint("The transaction might succeed if retried.")
	return &own
}

// ofRow adds the row to an error that the row has caused.
func ofRow(err error, place int64) error {
	if pgerr.Is(err, pgerr.UniqueViolation) {
		return &txn.RowError{Place: place, Err: err}
	}
	return err
}

// lockError names the row: in DETAIL for a conflict, in CONTEXT for a deadlock and a wait that
// timed out.
func lockError(c *Ctx, t *table.Table, key []byte, err error, doing string) error {
	var conflict *txn.ConflictError
	if errors.As(err, &conflict) {
		return named(c, t, key, err)
	}
	marked := pgerr.From(err)
	if marked.Code != pgerr.DeadlockDetected && marked.Code != pgerr.LockNotAvailable {
		return err
	}
	e := *marked
	e.Where = "while " + doing + " " + t.NameOf(c.Env, key)
	var cycle *txn.DeadlockError
	if errors.As(err, &cycle) {
		own := *cycle
		own.Err = &e
		return &own
	}
	return &e
}

// named names the row in the DETAIL of a conflict.
func named(c *Ctx, t *table.Table, key []byte, err error) error {
	var conflict *txn.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	own, e := *conflict, *conflict.Err
	e.Detail = own.Detail("%s", pgerr.Capital(t.NameOf(c.Env, key)))
	e.Table = t.Def.Name
	own.Err = &e
	return &own
}

// uniqueColumns returns the positions of the columns that other rows may refer to: those of the
// primary key and of unique indexes. An update that changes one takes the stronger lock.
func uniqueColumns(def *catalog.Table) map[int]bool {
	out := map[int]bool{}
	add := func(columns []int16) {
		for _, att := range columns {
			if att > 0 {
				out[int(att)-1] = true
			}
		}
	}
	for _, k := range def.Constraints {
		if k.Kind == catalog.PrimaryKey {
			add(k.Columns)
		}
	}
	for _, ix := range def.Indexes {
		if ix.Unique {
			add(ix.Columns)
		}
	}
	return out
}

// uniquePositions returns the unique columns.
func uniquePositions(def *catalog.Table) []int { return slices.Sorted(maps.Keys(uniqueColumns(def))) }

// keyedColumns returns the unique columns that an update sets or computes.
func keyedColumns(r *table.Rule, assign []assignment) []int {
	unique := uniqueColumns(r.Table.Def)
	var out []int
	for _, a := range assign {
		if unique[a.col] {
			out = append(out, a.col)
		}
	}
	for _, g := range r.Generated {
		if unique[g.Col] {
			out = append(out, g.Col)
		}
	}
	return out
}

// updateMode returns the lock mode for an update of old to next.
func updateMode(t *table.Table, keyed []int, old, next types.Row) txn.LockMode {
	for _, i := range keyed {
		if t.CompareColumn(i, old, next) != 0 {
			return txn.Update
		}
	}
	return txn.NoKeyUpdate
}
