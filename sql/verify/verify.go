package verify

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/txn"
)

// Emit receives a row of the report.
type Emit func(check, subject string, ok bool, detail string) error

// Stat counts the rows of the buckets [From, To) of a table, and their bytes.
type Stat struct {
	Table, From, To  uint32
	Documents, Bytes int64
}

// Fragment is a fragment to check.
type Fragment struct {
	ID   txn.FragmentID
	View exec.Reader // at the check's timestamp
	// Moved has the log's records of buckets that have moved in or out. Added is set for a fragment
	// that owns no other buckets.
	Moved []Owned
	Added bool
	// Remapped reports whether the bucket map has changed since the check began.
	Remapped func() bool
	// Alone is set on a stopped node: the log counts even if the map differs, because either may be
	// older.
	Alone bool
	// Dropping are the spans that the fragment is deleting.
	Dropping []txn.Span
	// Group is the number of buckets that one Stat counts. Stats emits the Stats that are not zero,
	// Recount the rows at the time of Stats. Buckets of a table with more bytes than Exact have a
	// Stat of their own in addition.
	Group   uint32
	Exact   int64
	Stats   func(ctx context.Context) ([]Stat, error)
	Recount func(ctx context.Context, s Stat) (documents, bytes int64, err error)
}

// Owned is the log's record of a range of buckets.
type Owned struct {
	shardmap.Interval
	Owned      bool // the fragment owns them
	Has        bool // the fragment owns them, or they are fenced: their data here still counts
	Leaving    bool // they are moving to another fragment, or have moved
	Generation uint32
}

// The checks, in the order of the report.
const (
	checkMap          = "bucket map"
	checkOwnership    = "ownership"
	checkTransactions = "transactions"
	checkStorage      = "storage"
	checkRows         = "rows"
	checkPlacement    = "placement"
	checkIndex        = "index"
	checkStatistics   = "statistics"
	checkReplicas     = "replicas"
	checkZone         = "zone"
	checkPins         = "pins"
	checkPrefixes     = "prefixes"
)

// maxShown is the number of faults that are named for one check and subject.
const maxShown = 10

// Check is the check of one database.
type Check struct {
	view          *catalog.View
	db            *catalog.Database
	tables        map[uint32]*tableState // by storage id
	dropping      map[uint32]bool        // storage ids that jobs delete
	droppingIndex map[[2]uint32]bool     // likewise, table and index
	seeds         [2]maphash.Seed
	taken         int // fragments that were read
	lags          bool
	apart         string // why data of several fragments cannot be compared; "" if it can
	findings      map[topic]*finding
	order         []topic
}

// tableState is the state of a table while a fragment is read.
type tableState struct {
	name      string
	rows      *table.RowCheck
	index     *table.IndexCheck
	secondary map[uint32]*secondary // by storage id
}

type topic struct{ check, subject string }

// finding is the result of the check about one topic.
type finding struct {
	looked int64
	unit   string
	said   string // replaces the number and its unit
	faults []string
	more   int64
	notes  []string // remarks that are not faults
}

// New starts a check of a database against its definitions in a view of the catalog. The view must
// not be older than the timestamp at which the fragments are read.
func New(view *catalog.View, db *catalog.Database) (*Check, error) {
	c := &Check{view: view, db: db, tables: map[uint32]*tableState{}, dropping: map[uint32]bool{},
		droppingIndex: map[[2]uint32]bool{}, seeds: newSeeds(), findings: map[topic]*finding{}}
	c.checkMap()
	for i := range db.Fragments {
		name := db.FragmentName(&db.Fragments[i])
		c.finding(checkOwnership, name, "ranges")
		c.finding(checkTransactions, name, "")
		c.finding(checkStorage, name, "keys")
	}
	var tables []*tableState
	defs := map[*tableState]*catalog.Table{}
	for def := range view.Tables(db.OID) {
		if def.Kind == catalog.KindView {
			continue
		}
		rows, err := table.NewRowCheck(def)
		if err != nil {
			return nil, err
		}
		t := &tableState{name: def.Name, rows: rows}
		if s := view.Schema(def.Schema); s != nil {
			t.name = s.Name + "." + def.Name
		}
		if err := c.secondaries(t, def); err != nil {
			return nil, err
		}
		c.tables[def.StorageID] = t
		tables, defs[t] = append(tables, t), def
	}
	slices.SortFunc(tables, func(a, b *tableState) int { return cmp.Compare(a.name, b.name) })
	for _, t := range tables {
		c.finding(checkRows, t.name, "rows")
		c.finding(checkPlacement, t.name, "rows")
		if t.rows.Order() != 0 {
			c.finding(checkIndex, t.name, "entries")
		}
		c.reportSecondaries(t, defs[t])
		c.finding(checkStatistics, t.name, "groups of buckets")
	}
	c.checkZones()
	for j := range view.Jobs() {
		if id, ok := j.DroppedStorage(); ok && j.Database == db.OID {
			c.dropping[id] = true
		}
		if table, index, ok := j.DroppedIndex(); ok && j.Database == db.OID {
			c.droppingIndex[[2]uint32{table, index}] = true
		}
	}
	return c, nil
}

// finding returns the finding of a topic, which is part of the report from then on.
func (c *Check) finding(check, subject, unit string) *finding {
	k := topic{check, subject}
	f := c.findings[k]
	if f == nil {
		f = &finding{unit: unit}
		c.findings[k] = f
		c.order = append(c.order, k)
	}
	return f
}

func (c *Check) fault(check, subject, format string, args ...any) {
	f := c.finding(check, subject, "")
	if len(f.faults) < maxShown {
		f.faults = append(f.faults, fmt.Sprintf(format, args...))
	} else {
		f.more++
	}
}

func (c *Check) fragmentName(id txn.FragmentID) string {
	if f := c.db.FragmentByID(id); f != nil {
		return c.db.FragmentName(f)
	}
	return fmt.Sprintf("fragment %d", id)
}

// checkMap proves the bucket map independently of the code that built it.
func (c *Check) checkMap() {
	f := c.finding(checkMap, c.db.Name, "ranges")
	if c.db.Map == nil {
		c.fault(checkMap, c.db.Name, "there is no bucket map")
		return
	}
	ranges := c.db.Map.Ranges()
	f.looked = int64(len(ranges))
	if _, err := shardmap.NewAssignedMap(c.db.Map.Epoch(), ranges, c.db.Map.Top()); err != nil {
		c.fault(checkMap, c.db.Name, "%v", err)
	}
	for _, r := range ranges {
		if c.db.FragmentByID(r.Fragment) == nil {
			c.fault(checkMap, c.db.Name, "buckets %v belong to fragment %d, which does not exist", r.Interval,
				r.Fragment)
		}
	}
}

// Undecided records a transaction that stays undecided, so that the fragment cannot be read.
func (c *Check) Undecided(fragment txn.FragmentID, id txn.ID, at txn.Timestamp, coordinator txn.FragmentID) {
	c.fault(checkTransactions, c.fragmentName(fragment),
		"transaction %s, prepared at %s, is undecided; its outcome is known to %s. The fragment's rows were not "+
			"checked.", id, at, c.fragmentName(coordinator))
}

// Report emits a row for each topic without faults, and a row for each fault and each note.
func (c *Check) Report(emit Emit) error {
	c.compareGlobals()
	for _, k := range c.order {
		f := c.findings[k]
		if len(f.faults) == 0 {
			if err := emit(k.check, k.subject, true, f.describe()); err != nil {
				return err
			}
		}
		for _, fault := range f.faults {
			if err := emit(k.check, k.subject, false, fault); err != nil {
				return err
			}
		}
		if f.more > 0 {
			if err := emit(k.check, k.subject, false, fmt.Sprintf("and %d more", f.more)); err != nil {
				return err
			}
		}
		for _, note := range f.notes {
			if err := emit(k.check, k.subject, true, note); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *finding) describe() string {
	if f.said != "" {
		return f.said
	}
	if f.unit == "" {
		return "none undecided"
	}
	return fmt.Sprintf("%d %s", f.looked, f.unit)
}
