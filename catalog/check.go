package catalog

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
)

// maxNameBytes is NAMEDATALEN - 1.
const maxNameBytes = 63

// checkDescriptor checks a descriptor without looking at other objects. Callers build descriptors
// from checked statements, so an error here means that the proposer broke an invariant; the
// descriptor is refused before it reaches a view.
func checkDescriptor(d descriptor) error {
	var err error
	switch d := d.(type) {
	case *Cluster:
		err = checkCluster(d)
	case *Database:
		err = errors.Join(checkName(d.Name), checkOID(d.OID), checkFragments(d))
	case *Schema:
		err = errors.Join(checkName(d.Name), checkOID(d.OID))
		if IsBuiltinSchema(d.Name) {
			return pgerr.New(pgerr.DuplicateSchema, `schema "%s" already exists`, d.Name)
		}
	case *Table:
		err = errors.Join(checkName(d.Name), checkOID(d.OID), checkTable(d))
	case *Role:
		err = errors.Join(checkName(d.Name), checkOID(d.OID))
	case *Node:
		err = checkName(d.Name)
		if d.ID == 0 || d.Block == "" {
			err = errors.Join(err, errors.New("a node needs a number and a block"))
		}
	case *Job:
		if d.ID == 0 || d.ID > maxObjectID || d.Kind == "" {
			err = errors.New("a job needs a number and a kind")
		} else if d.moves() {
			_, err = d.Move()
		} else if d.Kind == RemovalJob {
			_, err = d.Removal()
		} else if d.Kind == PlanJob {
			_, err = d.Plan()
		}
	case *Authority:
		err = d.check()
	case *JoinToken:
		err = d.check()
	case *Record:
		err = d.check()
	case *Statistics:
		err = d.check()
	case *Type:
		err = d.check()
	case *Function:
		err = d.check()
	}
	if err != nil {
		return fmt.Errorf("catalog: %T is not valid: %w", d, err)
	}
	return nil
}

func checkCluster(c *Cluster) error {
	if c.ID == "" || c.Format == 0 {
		return errors.New("a cluster needs an id and a format")
	}
	return nil
}

func checkName(name string) error {
	if name == "" || len(name) > maxNameBytes {
		return fmt.Errorf("name %q has %d bytes", name, len(name))
	}
	return nil
}

func checkOID(oid OID) error {
	if oid == 0 {
		return errors.New("no OID")
	}
	return nil
}

func checkFragments(d *Database) error {
	if d.Map == nil {
		return errors.New("no bucket map")
	}
	ids, ordinals := map[uint32]bool{}, map[int]bool{}
	for _, f := range d.Fragments {
		if f.ID == 0 || ids[f.ID] || f.Ordinal < 0 || f.Ordinal > math.MaxInt32 || ordinals[f.Ordinal] {
			return fmt.Errorf("fragment %d, number %d, is there twice or out of range", f.ID, f.Ordinal)
		}
		ids[f.ID], ordinals[f.Ordinal] = true, true
		if err := f.checkNodes(); err != nil {
			return err
		}
	}
	for _, id := range d.Map.Fragments() {
		if !ids[id] {
			return fmt.Errorf("the bucket map names fragment %d, which the database has not", id)
		}
	}
	last := uint32(0)
	for _, p := range d.Pins {
		if !p.OneKind() || p.Lo < last || !ids[p.Fragment] {
			return fmt.Errorf("buckets %v, pinned to fragment %d, are none, or pinned twice", p.Interval, p.Fragment)
		}
		last = p.Hi
	}
	return d.checkRules()
}

// checkNodes checks that only nodes with a replica join or leave, and that neither all replicas
// join nor all leave.
func (f *Fragment) checkNodes() error {
	for i, n := range f.Nodes {
		if slices.Contains(f.Nodes[:i], n) {
			return fmt.Errorf("fragment %d has node %d twice", f.ID, n)
		}
	}
	for _, some := range [][]uint32{f.Joining, f.Leaving} {
		for i, n := range some {
			if !slices.Contains(f.Nodes, n) || slices.Contains(some[:i], n) {
				return fmt.Errorf("fragment %d is not on node %d, which joins or leaves it, or that is said twice",
					f.ID, n)
			}
		}
		if len(some) > 0 && len(some) == len(f.Nodes) {
			return fmt.Errorf("all replicas of fragment %d join or leave", f.ID)
		}
	}
	return nil
}

func checkTable(t *Table) error {
	switch {
	case t.Kind != KindTable && t.Kind != KindSequence && !t.IsView() && !t.IsMaterialized() && t.Kind != KindParts:
		return fmt.Errorf("kind %q", rune(t.Kind))
	case t.StorageID == 0 && t.Kind != KindView:
		return errors.New("no storage id")
	case (t.Sequence != nil) != (t.Kind == KindSequence):
		return errors.New("a sequence's definition is missing, or out of place")
	case (t.View != nil) != (t.IsView() || t.IsMaterialized()):
		return errors.New("a view's definition is missing, or out of place")
	case (t.HotOf != 0) != (t.Kind == KindParts):
		return errors.New("parts of no table, or a table that is none of parts")
	case t.Version == 0:
		return errors.New("no version")
	}
	last, names := int16(0), map[string]bool{}
	for _, c := range t.Columns {
		if c.AttNum <= last || c.AttNum >= t.NextAttNum {
			return fmt.Errorf("attribute number %d is out of order or not below %d", c.AttNum, t.NextAttNum)
		}
		last = c.AttNum
		if c.Dropped {
			continue
		}
		if err := checkName(c.Name); err != nil {
			return err
		}
		if names[c.Name] {
			return pgerr.New(pgerr.DuplicateColumn, `column "%s" specified more than once`, c.Name)
		}
		names[c.Name] = true
	}
	return errors.Join(checkConstraints(t), checkIndexes(t), checkSegments(t), t.checkAttNum(t.Document, true),
		t.Sequence.check(), t.Hot.check(), checkExtended(t), checkTriggers(t), checkRowPolicies(t))
}

// checkSegments checks that a range table has a primary key, and no other way to place its rows.
func checkSegments(t *Table) error {
	if len(t.Segments) > 0 && (t.PrimaryKey() == nil || t.Policy != nil || t.Anchors) {
		return errors.New("segments of a table without primary key, or with another way to place its rows")
	}
	return t.Segments.Check()
}

// checkAttNum checks that a live column has number n; zeroOK allows 0 for none.
func (t *Table) checkAttNum(n int16, zeroOK bool) error {
	if n == 0 && zeroOK {
		return nil
	}
	if c := t.ColumnByNum(n); c == nil || c.Dropped {
		return fmt.Errorf("no column %d", n)
	}
	return nil
}

func checkConstraints(t *Table) error {
	names, primary := map[string]bool{}, 0
	for _, c := range t.Constraints {
		if err := errors.Join(checkName(c.Name), checkOID(c.OID)); err != nil {
			return err
		}
		if names[c.Name] {
			return pgerr.New(pgerr.DuplicateObject, `constraint "%s" for relation "%s" already exists`, c.Name, t.Name)
		}
		names[c.Name] = true
		for _, n := range c.Columns {
			if err := t.checkAttNum(n, false); err != nil {
				return fmt.Errorf("constraint %q: %w", c.Name, err)
			}
		}
		if c.Kind == PrimaryKey {
			primary++
		}
		if err := c.checkReference(); err != nil {
			return err
		}
	}
	if primary > 1 {
		return pgerr.New(pgerr.InvalidTableDefinition, `multiple primary keys for table "%s" are not allowed`, t.Name)
	}
	return nil
}

func checkIndexes(t *Table) error {
	storage := map[uint32]bool{}
	for i := range t.Indexes {
		x := &t.Indexes[i]
		if err := errors.Join(checkName(x.Name), checkOID(x.OID)); err != nil {
			return err
		}
		if x.StorageID == 0 || storage[x.StorageID] {
			return fmt.Errorf("index %q: storage id %d is zero or taken", x.Name, x.StorageID)
		}
		storage[x.StorageID] = true
		if err := checkIndexKey(t, x); err != nil {
			return fmt.Errorf("index %q: %w", x.Name, err)
		}
	}
	return nil
}

func checkIndexKey(t *Table, x *Index) error {
	expressions := 0
	for _, n := range x.Columns {
		if err := t.checkAttNum(n, true); err != nil { // 0 is an expression
			return err
		}
		if n == 0 {
			expressions++
		}
	}
	for _, n := range x.Include {
		if err := t.checkAttNum(n, false); err != nil {
			return err
		}
	}
	switch {
	case expressions != len(x.Expressions):
		return fmt.Errorf("%d expressions for %d places", len(x.Expressions), expressions)
	case len(x.Order) > len(x.Columns):
		return fmt.Errorf("orders of %d columns for %d", len(x.Order), len(x.Columns))
	case !slices.Contains([]AccessMethod{BTree, Hash, GIN, BRIN, SPGiST}, x.Method):
		return fmt.Errorf("unknown access method %q", x.Method)
	case x.Method != BTree && (x.Unique || x.Primary || x.Global):
		return fmt.Errorf("access method %s has no unique or global indexes", x.Method)
	case x.State > IndexBuilding:
		return fmt.Errorf("unknown state %d", x.State)
	case x.Primary && (x.Global || x.State != IndexPublic || expressions > 0):
		return errors.New("a primary key's index is local and has columns only")
	}
	return nil
}
