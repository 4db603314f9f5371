package catalog

import (
	"fmt"
	"math"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/tidwall/btree"
)

// FirstOID is the first OID that the catalog allots; smaller ones are PostgreSQL's own (V5).
const FirstOID OID = 16384

// counters are the next numbers to allot. Allotted numbers are never returned (K3).
type counters struct {
	oid      uint64 // OIDs and storage ids
	fragment uint64
	node     uint64
	job      uint64
}

func firstCounters() counters { return counters{oid: uint64(FirstOID), fragment: 1, node: 1, job: 1} }

// allotment asks for numbers.
type allotment struct {
	oids, fragments, nodes, jobs uint32
	table                        OID    // the table whose ids are numbered
	ids                          uint64 // how many numbers for them
}

// idCounters maps a table to the next number for ids that the server completes. A table without an
// entry starts at 1.
type idCounters = btree.Map[OID, uint64]

// maxIDNumber is the largest number in an id: the largest bigint.
const maxIDNumber = math.MaxInt64

// allotIDs takes n numbers for ids of a table's documents and returns the first.
func allotIDs(v *View, ids *idCounters, table OID, n uint64) (first uint64, err error) {
	if v.Table(table) == nil {
		return 0, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", table)
	}
	first, ok := ids.Get(table)
	if !ok {
		first = 1
	}
	if n > maxIDNumber-first {
		return 0, pgerr.New(pgerr.ConfigurationLimitExceeded, "the table has used up the numbers of its ids")
	}
	ids.Set(table, first+n)
	return first, nil
}

// startIDs sets the counters of new tables above the numbers that their own transactions have used.
func startIDs(ops []op, ids *idCounters) {
	for _, o := range ops {
		if o.kind != putOp || o.nextID == 0 {
			continue
		}
		if next, _ := ids.Get(OID(o.key.id())); next < o.nextID {
			ids.Set(OID(o.key.id()), o.nextID)
		}
	}
}

// forgetIDs drops the counters of dropped tables. Their OIDs are never reused (K3).
func forgetIDs(v *View, ids *idCounters) {
	for _, table := range ids.Keys() {
		if v.Table(table) == nil {
			ids.Delete(table)
		}
	}
}

// allot returns the first numbers of the requested runs and the counters after them.
func (c counters) allot(want allotment) (first counters, next counters, err error) {
	next = counters{
		oid: c.oid + uint64(want.oids), fragment: c.fragment + uint64(want.fragments),
		node: c.node + uint64(want.nodes), job: c.job + uint64(want.jobs),
	}
	if max(next.oid, next.fragment, next.node) > math.MaxUint32 || next.job > maxObjectID {
		return c, c, pgerr.New(pgerr.ConfigurationLimitExceeded, "the cluster has used up its object numbers")
	}
	return c, next, nil
}

// checkAllotted refuses a descriptor with a number that was not allotted, because the number might
// be allotted to another object later.
func (c counters) checkAllotted(d descriptor) error {
	oids := func(ns ...uint32) error {
		for _, n := range ns {
			if n >= FirstOID && uint64(n) >= c.oid {
				return fmt.Errorf("catalog: number %d was not allotted", n)
			}
		}
		return nil
	}
	switch d := d.(type) {
	case *Database:
		for _, f := range d.Fragments {
			if uint64(f.ID) >= c.fragment {
				return fmt.Errorf("catalog: fragment number %d was not allotted", f.ID)
			}
		}
		return oids(d.OID)
	case *Schema:
		return oids(d.OID)
	case *Role:
		return oids(d.OID)
	case *Table:
		ns := []uint32{d.OID, d.StorageID}
		for _, x := range d.Indexes {
			ns = append(ns, x.OID)
		}
		for _, k := range d.Constraints {
			ns = append(ns, k.OID)
		}
		return oids(ns...)
	case *Type:
		var ns []uint32
		if d.Kind != DomainType {
			ns = append(ns, d.OID)
		}
		for i := range d.Labels {
			ns = append(ns, d.Labels[i].OID)
		}
		return oids(ns...)
	case *Function:
		return oids(d.OID)
	case *Node:
		if uint64(d.ID) >= c.node {
			return fmt.Errorf("catalog: node number %d was not allotted", d.ID)
		}
	case *Job:
		if d.ID >= c.job {
			return fmt.Errorf("catalog: job number %d was not allotted", d.ID)
		}
		if m, err := d.Move(); err == nil && m.Step.Number >= c.job {
			return fmt.Errorf("catalog: number %d of a move's step was not allotted", m.Step.Number)
		}
	}
	return nil
}
