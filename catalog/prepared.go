package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
)

// TransactionID names a transaction, as package txn does.
type TransactionID = [16]byte

// prepared is a change that waits for its decision: the catalog's part of a transaction that also
// writes to fragments. Until then no change comes into force that would make this one invalid (K6),
// so its decision cannot fail.
type prepared struct {
	id          TransactionID
	writers     []uint32             // fragments
	transaction *preparedTransaction // nil if its coordinator decides at once; set after PREPARE TRANSACTION
	ops         []op
	holds       *footprint // derived from ops
}

// heldBy names the coordinator fragment (home) of a prepared transaction. The change waits for the
// decision of that fragment for any length of time, also over restarts; a query for the outcome
// does not end it.
type preparedTransaction struct {
	home  uint32
	locks []TableLock
}

// decided is a committed transaction whose outcome may be unknown to some of its writers.
type decided struct {
	id       TransactionID
	commitTS uint64
	writers  []uint32
}

// footprint is what a change depends on and what it changes.
type footprint struct {
	changes map[objectKey]bool
	// Objects that must not change: required ones, and those that a put object refers to.
	needs map[objectKey]bool
	names map[string]bool // that a put object takes
}

func footprintOf(ops []op) *footprint {
	f := &footprint{changes: map[objectKey]bool{}, needs: map[objectKey]bool{}, names: map[string]bool{}}
	for _, o := range ops {
		if o.kind == requireOp {
			f.needs[o.key] = true
			continue
		}
		f.changes[o.key] = true
		if o.kind == dropOp {
			continue
		}
		for _, n := range namesOf(o.desc) {
			f.names[n.key] = true
		}
		for _, k := range referencesOf(o.desc) {
			f.needs[k] = true
		}
	}
	return f
}

// referencesOf returns the objects that checkPut asks for.
func referencesOf(d descriptor) []objectKey {
	role := func(oid OID) objectKey { return newKey(roleObject, uint64(oid)) }
	switch d := d.(type) {
	case *Database:
		out := []objectKey{role(d.Owner)}
		for _, f := range d.Fragments {
			for _, n := range f.Nodes {
				out = append(out, newKey(nodeObject, uint64(n)))
			}
		}
		return out
	case *Schema:
		return []objectKey{role(d.Owner), newKey(databaseObject, uint64(d.Database))}
	case *Table:
		out := []objectKey{role(d.Owner), newKey(databaseObject, uint64(d.Database)),
			newKey(schemaObject, uint64(d.Schema))}
		for i := range d.Constraints {
			if r := d.Constraints[i].Reference; r != nil {
				out = append(out, newKey(tableObject, uint64(r.Table)))
			}
		}
		for _, oid := range d.usedTypes() {
			out = append(out, newKey(typeObject, uint64(oid)))
		}
		return appendFunctionKeys(out, d.usedFunctions())
	case *Function:
		return d.references()
	case *Type:
		out := []objectKey{role(d.Owner), newKey(databaseObject, uint64(d.Database)),
			newKey(schemaObject, uint64(d.Schema))}
		for _, oid := range d.usedTypes() {
			out = append(out, newKey(typeObject, uint64(oid)))
		}
		return appendFunctionKeys(out, d.usedFunctions())
	}
	return nil
}

// collides reports whether two changes must not be reordered.
func (f *footprint) collides(g *footprint) bool {
	return meet(f.changes, g.changes) || meet(f.changes, g.needs) || meet(f.needs, g.changes) || meet(f.names, g.names)
}

func meet[K comparable](a, b map[K]bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	for k := range a {
		if b[k] {
			return true
		}
	}
	return false
}

// busyError refuses a change that collides with a prepared one, which must be decided first.
type busyError struct{ id TransactionID }

func (e *busyError) Error() string {
	return fmt.Sprintf("catalog: the change waits for the decision of transaction %x", e.id)
}

// Unwrap returns the error for a change that is not tried again: a conflict.
func (e *busyError) Unwrap() error {
	return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
		WithDetail("Another transaction is just committing a change of the same definitions.").WithHint("Try again.")
}

// checkPrepared refuses a change that collides with a prepared one.
func (v *View) checkPrepared(ops []op) error {
	if len(v.prepared) == 0 {
		return nil
	}
	f := footprintOf(ops)
	for _, p := range v.prepared {
		if f.collides(p.holds) {
			return &busyError{p.id}
		}
	}
	return nil
}

func (v *View) findPrepared(id TransactionID) *prepared {
	for _, p := range v.prepared {
		if p.id == id {
			return p
		}
	}
	return nil
}

func (v *View) findDecided(id TransactionID) *decided {
	for _, d := range v.decided {
		if d.id == id {
			return d
		}
	}
	return nil
}

// prepare returns the view in which a change waits for its decision. It first applies the change to
// a copy, to check that it is valid.
func (v *View) prepare(p *prepared, c counters) (*View, error) {
	switch {
	case v.findPrepared(p.id) != nil:
		return v, nil // repeated request
	case v.findDecided(p.id) != nil:
		return nil, errors.New("catalog: the transaction is decided")
	}
	if _, err := v.apply(p.ops, c); err != nil {
		return nil, err
	}
	d := v.draft()
	d.version++
	d.prepared = append(slices.Clone(v.prepared), p)
	slices.SortFunc(d.prepared, func(a, b *prepared) int { return bytes.Compare(a.id[:], b.id[:]) })
	return d, nil
}

// decide returns the view after the decision of a prepared change, and the decision that counts:
// the first one. A change that was never prepared or is forgotten is aborted (K7). A transaction
// after PREPARE TRANSACTION is decided only by its coordinator fragment; for any other decision the
// outcome is 0.
func (v *View) decide(e decision, c counters) (*View, Outcome, error) {
	p := v.findPrepared(e.id)
	if p == nil {
		if d := v.findDecided(e.id); d != nil {
			return v, Committed, nil
		}
		return v, Aborted, nil
	}
	if p.transaction != nil && !e.prepared {
		return v, 0, nil
	}
	d := v.draft()
	d.prepared = slices.DeleteFunc(slices.Clone(v.prepared), func(x *prepared) bool { return x == p })
	if !e.commit {
		d.version++
		return d, Aborted, nil
	}
	d, err := d.apply(p.ops, c)
	if err != nil {
		return nil, 0, fmt.Errorf("catalog: a prepared change is not valid any more: %w", err) // K6
	}
	if p.transaction != nil {
		return d, Committed, nil // no participant asks the catalog
	}
	d.decided = append(slices.Clone(v.decided), &decided{p.id, e.commitTS, p.writers})
	slices.SortFunc(d.decided, func(a, b *decided) int { return bytes.Compare(a.id[:], b.id[:]) })
	return d, Committed, nil
}

// forget returns the view without the record of a commit.
func (v *View) forget(id TransactionID) *View {
	known := v.findDecided(id)
	if known == nil {
		return v
	}
	d := v.draft()
	d.version++
	d.decided = slices.DeleteFunc(slices.Clone(v.decided), func(x *decided) bool { return x == known })
	return d
}
