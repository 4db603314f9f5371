package exec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// rechecks tells whether the statement goes on with the newest version of a row that changed after its snapshot.
func (c *Ctx) rechecks() bool { return c.Limits.Isolation == txn.ReadCommitted }

// lockRow takes the lock of a row of this fragment, and tells whether it changed after the snapshot where req asks to recheck. Errors say
// which row it was, and what was being done to it.
func (t *table) lockRow(c *Ctx, key []byte, req txn.LockRequest, doing string) (changed bool, err error) {
	over := t.watchWait(c, key, req, doing)
	changed, err = c.local.tx.Lock(c.ctx(), key, req)
	over(err)
	if err != nil {
		err = t.lockError(c, key, err, doing)
	}
	return changed, err
}

// lockNew takes the lock of a new row's key, or of an index entry that only one row may have. Where another transaction held it, which was
// writing the same key, since is what the fragment had applied when the wait began; else it is maxT.
func (t *table) lockNew(c *Ctx, key []byte, req txn.LockRequest) (since txn.Timestamp, err error) {
	const doing = "inserting"
	req.NoWait = true
	if _, err = t.lockRow(c, key, req, doing); !errors.Is(err, txn.ErrLocked) {
		return maxT, err
	}
	req.NoWait, since = false, c.local.tx.Applied()
	_, err = t.lockRow(c, key, req, doing)
	return since, err
}

// takenBy adds to the error of a taken key, for which the statement has waited since, who took it. It says nothing of a writer that had
// committed by then: its lock was only being cleared away, and to the user that row was simply there before.
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
	e.Detail += fmt.Sprintf(" Transaction %d wrote it, which committed at %s, while this one waited for it.", by.Other.XID(), by.Version)
	return &e
}

// unseen is the error of a key that is taken although a SERIALIZABLE transaction has looked and not found it: in no order of the two would it be.
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
	own.Err = pgerr.New(pgerr.SerializationFailure, "could not serialize access due to read/write dependencies among transactions").
		WithDetail("%s", own.Detail("Key \\x%x", key)).WithHint("The transaction might succeed if retried.")
	return &own
}

// RowError is an error of one of the rows that an INSERT or COPY sends to the fragments; Place counts them from 0.
type RowError struct {
	Place int64
	Err   error
}

func (e *RowError) Error() string { return e.Err.Error() }

// Unwrap gives the error itself.
func (e *RowError) Unwrap() error { return e.Err }

// ofRow says which row an error is of, where that is the row's fault.
func ofRow(err error, place int64) error {
	if pgerr.Is(err, pgerr.UniqueViolation) {
		return &RowError{place, err}
	}
	return err
}

// lockError names the row in DETAIL of a conflict, and in CONTEXT of a deadlock and of a wait that was given up.
func (t *table) lockError(c *Ctx, key []byte, err error, doing string) error {
	var conflict *txn.ConflictError
	if errors.As(err, &conflict) {
		return t.named(c, key, err)
	}
	marked := pgerr.From(err)
	if marked.Code != pgerr.DeadlockDetected && marked.Code != pgerr.LockNotAvailable {
		return err
	}
	e := *marked
	e.Where = "while " + doing + " " + t.nameOf(c.Env, key)
	var circle *txn.DeadlockError
	if errors.As(err, &circle) {
		own := *circle
		own.Err = &e
		return &own
	}
	return &e
}

// named says in the DETAIL of a conflict which row it is about.
func (t *table) named(c *Ctx, key []byte, err error) error {
	var conflict *txn.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	own, e := *conflict, *conflict.Err
	e.Detail = own.Detail("%s", pgerr.Capital(t.nameOf(c.Env, key)))
	e.Table = t.def.Name
	own.Err = &e
	return &own
}

// rowName is a row as messages call it: key (id)=(orders/1-A) of relation "orders".
func (t *table) rowName(env *types.Env, key []byte) string {
	names, values, ok := t.keyText(env, key)
	name := "row"
	if ok {
		name = "key (" + names + ")=(" + values + ")"
	}
	return name + ` of relation "` + t.def.Name + `"`
}

// keyText reads the primary key in a row's key; ok is false where the table has none.
func (t *table) keyText(env *types.Env, key []byte) (names, values string, ok bool) {
	if len(t.key) == 0 || len(key) < keyAt {
		return "", "", false
	}
	rest := key[keyAt:]
	var ns, vs []string
	for _, i := range t.key {
		col := &t.def.Columns[i]
		d, tail, err := types.DecodeKey(col.Type, rest, false)
		if err != nil {
			return "", "", false
		}
		rest = tail
		ns, vs = append(ns, col.Name), append(vs, types.Output(col.Type, d, env))
	}
	return strings.Join(ns, ", "), strings.Join(vs, ", "), true
}

// uniqueColumns lists the positions of the columns that other rows may refer to: those of the primary key and of unique indexes. An update
// that changes one takes the stronger lock.
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

// keyedColumns lists the unique columns among those that an update sets or computes.
func keyedColumns(r *tableRule, assign []assignment) []int {
	unique := uniqueColumns(r.table.def)
	var out []int
	for _, a := range assign {
		if unique[a.col] {
			out = append(out, a.col)
		}
	}
	for _, g := range r.generated {
		if unique[g.col] {
			out = append(out, g.col)
		}
	}
	return out
}

// updateMode is the lock that an update of old to next takes.
func (t *table) updateMode(keyed []int, old, next Row) txn.LockMode {
	for _, i := range keyed {
		if t.compareColumn(i, old, next) != 0 {
			return txn.Update
		}
	}
	return txn.NoKeyUpdate
}
