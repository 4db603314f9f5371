package catalog

import (
	"fmt"
	"math"

	"github.com/sherddb/sherd/internal/pgerr"
)

// FirstOID is the first OID that the catalog allots; smaller ones are PostgreSQL's own (V5).
const FirstOID OID = 16384

// counters are the next numbers to allot. Numbers are never given back (K3).
type counters struct {
	oid      uint64 // OIDs and storage ids
	fragment uint64
	node     uint64
	job      uint64
}

func firstCounters() counters { return counters{oid: uint64(FirstOID), fragment: 1, node: 1, job: 1} }

// allotment asks for numbers, or holds the first of each run that was allotted.
type allotment struct {
	oids, fragments, nodes, jobs uint32
}

// allot gives the first numbers of the runs asked for and the counters after them.
func (c counters) allot(want allotment) (first counters, next counters, err error) {
	next = counters{
		oid: c.oid + uint64(want.oids), fragment: c.fragment + uint64(want.fragments), node: c.node + uint64(want.nodes), job: c.job + uint64(want.jobs),
	}
	if max(next.oid, next.fragment, next.node) > math.MaxUint32 || next.job > maxObjectID {
		return c, c, pgerr.New(pgerr.ConfigurationLimitExceeded, "the cluster has used up its object numbers")
	}
	return c, next, nil
}

// checkAllotted refuses a descriptor with a number that was not allotted: it might be allotted to something else later.
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
	case *Node:
		if uint64(d.ID) >= c.node {
			return fmt.Errorf("catalog: node number %d was not allotted", d.ID)
		}
	case *Job:
		if d.ID >= c.job {
			return fmt.Errorf("catalog: job number %d was not allotted", d.ID)
		}
	}
	return nil
}
