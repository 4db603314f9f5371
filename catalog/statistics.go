package catalog

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/pgerr"
)

// StatisticsSince is the version of the cluster from which there are Statistics (View.Knows).
const StatisticsSince = clusterversion.TableStatistics

// Statistics are the statistics of a table's contents, as its last ANALYZE has stored them. They are
// dropped with the table, and are no definition: programs that were planned before stay valid.
type Statistics struct {
	Table   OID
	Encoded []byte // by package sql/statistics
}

// maxStatistics bounds Encoded: the catalog is in memory on every node.
const maxStatistics = 32 << 10

func (s *Statistics) check() error {
	if s.Table == 0 || len(s.Encoded) == 0 || len(s.Encoded) > maxStatistics {
		return errors.New("statistics need a table, and have a limited size")
	}
	return nil
}

// Put stores the statistics of a table in place of its former ones.
func (s *Statistics) Put(c *Change) error {
	n := *s
	return c.put(&n)
}

// StatisticsOf returns the statistics of a table, nil if it was never analyzed.
func StatisticsOf(v *View, table OID) *Statistics {
	return get[*Statistics](v, newKey(statisticsObject, uint64(table)))
}

// ExtendedStatistics is an object of CREATE STATISTICS: ANALYZE computes statistics of the columns
// and expressions together. It is part of its table, but has a schema and an owner of its own.
type ExtendedStatistics struct {
	OID         OID
	Schema      OID
	Name        string
	Owner       OID      // role
	Columns     []int16  // sorted
	Expressions []string // SQL text
	// Kinds lists what is computed, in the order of StatisticsKinds. It is empty for a single
	// expression: ANALYZE computes the statistics of a column for it.
	Kinds []StatisticsKind
	// Target is the statistics target plus 1; 0 is the default: the largest of the columns.
	Target  uint32
	Comment string
}

// StatisticsKind is an element of pg_statistic_ext.stxkind.
type StatisticsKind byte

// Kinds of statistics of several columns together.
const (
	NDistinct    StatisticsKind = 'd'
	Dependencies StatisticsKind = 'f'
	CommonValues StatisticsKind = 'm'
)

// StatisticsKinds are all kinds, in PostgreSQL's order.
var StatisticsKinds = []StatisticsKind{NDistinct, Dependencies, CommonValues}

// MaxStatisticsColumns is how many columns and expressions a statistics object has at most.
const MaxStatisticsColumns = 8

// ExtendedStatisticsSince is the version of the cluster from which there are ExtendedStatistics.
const ExtendedStatisticsSince = clusterversion.ExtendedStatistics

// StatisticsTarget is pg_statistic_ext.stxstattarget; -1 is the default.
func (x *ExtendedStatistics) StatisticsTarget() int { return int(x.Target) - 1 }

// Has reports whether statistics of a kind are computed.
func (x *ExtendedStatistics) Has(kind StatisticsKind) bool { return slices.Contains(x.Kinds, kind) }

func (x *ExtendedStatistics) clone() ExtendedStatistics {
	c := *x
	c.Columns, c.Expressions, c.Kinds = slices.Clone(x.Columns), slices.Clone(x.Expressions), slices.Clone(x.Kinds)
	return c
}

func cloneStatistics(list []ExtendedStatistics) []ExtendedStatistics {
	out := slices.Clone(list)
	for i := range out {
		out[i] = list[i].clone()
	}
	return out
}

// Extended returns the table's statistics object with an OID, nil if there is none.
func (t *Table) Extended(oid OID) *ExtendedStatistics {
	for i := range t.Statistics {
		if t.Statistics[i].OID == oid {
			return &t.Statistics[i]
		}
	}
	return nil
}

// ExtendedByOID returns a statistics object and its table, nil if there is none.
func ExtendedByOID(v *View, oid OID) (*Table, *ExtendedStatistics) {
	t := v.TableOfPart(oid)
	if t == nil {
		return nil, nil
	}
	x := t.Extended(oid)
	if x == nil {
		return nil, nil
	}
	return t, x
}

// ExtendedByName returns the statistics object with a name in a schema and its table, nil if there is
// none.
func ExtendedByName(v *View, schema OID, name string) (*Table, *ExtendedStatistics) {
	t := byName[*Table](v, statisticsNames, schema, name)
	if t == nil {
		return nil, nil
	}
	i := slices.IndexFunc(t.Statistics, func(x ExtendedStatistics) bool { return x.Schema == schema && x.Name == name })
	return t, &t.Statistics[i] // K4
}

// ExtendedIn returns the statistics objects of a schema by name, with their tables.
func ExtendedIn(v *View, schema OID) iter.Seq2[*Table, *ExtendedStatistics] {
	return func(yield func(*Table, *ExtendedStatistics) bool) {
		for name := range named[*Table](v, statisticsNames, schema) {
			if t, x := ExtendedByName(v, schema, name); !yield(t, x) {
				return
			}
		}
	}
}

func checkExtended(t *Table) error {
	last := OID(0)
	for i := range t.Statistics {
		x := &t.Statistics[i]
		if err := errors.Join(checkName(x.Name), checkOID(x.Owner), checkOID(x.Schema)); err != nil {
			return err
		}
		if x.OID <= last {
			return fmt.Errorf("statistics object %q has OID %d after %d", x.Name, x.OID, last)
		}
		last = x.OID
		for _, n := range x.Columns {
			if err := t.checkAttNum(n, false); err != nil {
				return fmt.Errorf("statistics object %q: %w", x.Name, err)
			}
		}
		all := len(x.Columns) + len(x.Expressions)
		switch {
		case all == 0 || all > MaxStatisticsColumns || !slices.IsSorted(x.Columns):
			return fmt.Errorf("statistics object %q has %d columns, or they are out of order", x.Name, all)
		case (all == 1) != (len(x.Kinds) == 0):
			return fmt.Errorf("statistics object %q has %d columns and %d kinds", x.Name, all, len(x.Kinds))
		}
	}
	return nil
}

// checkExtendedPlaces checks that the schemas and owners of a table's statistics objects exist.
func (t *Table) checkExtendedPlaces(v *View) error {
	for i := range t.Statistics {
		x := &t.Statistics[i]
		if s := v.Schema(x.Schema); s == nil || s.Database != t.Database {
			return pgerr.New(pgerr.InvalidSchemaName, "schema with OID %d does not exist", x.Schema)
		}
		if err := v.checkOwner(x.Owner); err != nil {
			return err
		}
	}
	return nil
}

func encodeExtended(list []ExtendedStatistics) (out []*pb.ExtendedStatistics) {
	for i := range list {
		x := &list[i]
		p := &pb.ExtendedStatistics{
			Oid: x.OID, Schema: x.Schema, Name: x.Name, Owner: x.Owner, Columns: encodeAttNums(x.Columns),
			Expressions: x.Expressions, StatisticsTarget: x.Target, Comment: x.Comment,
		}
		for _, k := range x.Kinds {
			p.Kinds = append(p.Kinds, byte(k))
		}
		out = append(out, p)
	}
	return out
}

func (d *attNumDecoder) extended(list []*pb.ExtendedStatistics) (out []ExtendedStatistics) {
	for _, p := range list {
		x := ExtendedStatistics{
			OID: p.GetOid(), Schema: p.GetSchema(), Name: p.GetName(), Owner: p.GetOwner(),
			Columns: d.nums(p.GetColumns()), Expressions: p.GetExpressions(), Target: p.GetStatisticsTarget(),
			Comment: p.GetComment(),
		}
		for _, k := range p.GetKinds() {
			x.Kinds = append(x.Kinds, StatisticsKind(k))
		}
		out = append(out, x)
	}
	return out
}
