package catalog

import (
	"errors"
	"math"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/pgerr"
)

// Sequence is the definition of a sequence. The current value is in its storage: one row, written
// in blocks before the values are used. Until that row exists, Value and Called are the state.
type Sequence struct {
	Type      OID // int2, int4 or int8
	Start     int64
	Increment int64 // not 0
	Min       int64
	Max       int64
	Cache     int64 // the number of values that a session takes at once
	Cycle     bool
	Table     OID   // the table whose column owns the sequence, 0: none
	Column    int16 // that column
	Internal  bool  // it belongs to an identity column
	Value     int64
	Called    bool // nextval has returned Value
}

// Columns of a sequence's storage. SELECT from a sequence shows the first three.
const (
	SequenceValue  int16 = 1 // last_value
	SequenceLogged int16 = 2 // log_cnt
	SequenceCalled int16 = 3 // is_called
	SequenceKey    int16 = 4 // the sequence's OID; there is one row for it
	SequenceShown        = 3
)

// NewSequenceTable returns the relation of a sequence; the caller sets its name and schema.
// constraint is the OID of its primary key.
func NewSequenceTable(oid, constraint OID, s Sequence) *Table {
	return &Table{
		OID: oid, StorageID: oid, Kind: KindSequence, NextAttNum: SequenceKey + 1,
		Special: Special{Sequence: &s},
		Columns: []Column{
			{AttNum: SequenceValue, Name: "last_value", Type: int8OID, Typmod: -1, NotNull: true},
			{AttNum: SequenceLogged, Name: "log_cnt", Type: int8OID, Typmod: -1, NotNull: true},
			{AttNum: SequenceCalled, Name: "is_called", Type: boolOID, Typmod: -1, NotNull: true},
			{AttNum: SequenceKey, Name: "sequence", Type: int8OID, Typmod: -1, NotNull: true},
		},
		Constraints: []Constraint{{OID: constraint, Name: "sequence_key", Kind: PrimaryKey,
			Columns: []int16{SequenceKey}, Valid: true}},
	}
}

// Types of a sequence's columns.
const (
	boolOID OID = 16
	int8OID OID = 20
)

func (s *Sequence) clone() *Sequence {
	if s == nil {
		return nil
	}
	c := *s
	return &c
}

func (s *Sequence) check() error {
	switch {
	case s == nil:
		return nil
	case s.Increment == 0 || s.Cache < 1 || s.Min > s.Max:
		return errors.New("a sequence that cannot count")
	case (s.Table == 0) != (s.Column == 0):
		return errors.New("a sequence is owned by half a column")
	}
	return nil
}

// Run is Count consecutive values of a sequence, from First to Last.
type Run struct{ First, Last, Count int64 }

// After returns the values that follow a state, at most n: fewer if the sequence ends or restarts.
// ok is false at the end of a sequence that does not cycle.
func (s *Sequence) After(value int64, called bool, n int64) (r Run, ok bool) {
	r.First = value
	switch {
	case !called:
	case s.room(value) > 0:
		r.First = value + s.Increment
	case !s.Cycle:
		return Run{}, false
	case s.Increment > 0:
		r.First = s.Min
	default:
		r.First = s.Max
	}
	more := uint64(max(n, 1) - 1)
	more = min(more, s.room(r.First))
	r.Count = int64(more) + 1
	r.Last = r.First + int64(more)*s.Increment
	return r, true
}

// room returns how many steps of the increment are possible after a value.
func (s *Sequence) room(value int64) uint64 {
	if s.Increment > 0 {
		if value >= s.Max {
			return 0
		}
		return (uint64(s.Max) - uint64(value)) / uint64(s.Increment)
	}
	if value <= s.Min {
		return 0
	}
	step := uint64(math.MaxInt64) + 1
	if s.Increment != math.MinInt64 {
		step = uint64(-s.Increment)
	}
	return (uint64(value) - uint64(s.Min)) / step
}

// Exhausted is the error of a sequence that has no more values.
func (t *Table) Exhausted() error {
	if t.Sequence.Increment > 0 {
		return pgerr.New(pgerr.SequenceLimitExceeded, `nextval: reached maximum value of sequence "%s" (%d)`, t.Name,
			t.Sequence.Max)
	}
	return pgerr.New(pgerr.SequenceLimitExceeded, `nextval: reached minimum value of sequence "%s" (%d)`, t.Name,
		t.Sequence.Min)
}

// OwnedSequences returns the sequences that columns of a table own, by name. They are in the
// table's schema.
func (v *View) OwnedSequences(t *Table) []*Table {
	var out []*Table
	for s := range v.TablesIn(t.Schema) {
		if s.Sequence != nil && s.Sequence.Table == t.OID {
			out = append(out, s)
		}
	}
	return out
}

// SetSequence sets the initial state of a sequence that the change puts with this storage id.
func (c *Change) SetSequence(sequence OID, storage uint32, value int64, called bool) {
	i, ok := c.at[newKey(tableObject, uint64(sequence))]
	if !ok || c.ops[i].kind != putOp {
		return
	}
	t := c.ops[i].desc.(*Table)
	if t.Sequence == nil || t.StorageID != storage {
		return
	}
	t = t.Clone()
	t.Sequence.Value, t.Sequence.Called = value, called
	c.ops[i].desc = t
}

func encodeSequence(s *Sequence) *pb.Sequence {
	if s == nil {
		return nil
	}
	return &pb.Sequence{
		Type: s.Type, Start: s.Start, Increment: s.Increment, Min: s.Min, Max: s.Max, Cache: s.Cache, Cycle: s.Cycle,
		Table: s.Table, Column: int32(s.Column), Internal: s.Internal, Value: s.Value, Called: s.Called,
	}
}

func (d *attNumDecoder) sequence(p *pb.Sequence) *Sequence {
	if p == nil {
		return nil
	}
	return &Sequence{
		Type: p.GetType(), Start: p.GetStart(), Increment: p.GetIncrement(), Min: p.GetMin(), Max: p.GetMax(),
		Cache: p.GetCache(), Cycle: p.GetCycle(),
		Table: p.GetTable(), Column: d.num(p.GetColumn()), Internal: p.GetInternal(), Value: p.GetValue(),
		Called: p.GetCalled(),
	}
}
