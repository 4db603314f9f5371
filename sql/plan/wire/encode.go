package wire

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Fields of Plan, TableRef and IndexRef.
const (
	planTables  = 1
	planIndexes = 2
	planRoot    = 3

	tableOID        = 1
	tableVersion    = 2
	tableDefinition = 3

	indexTable = 1
	indexAt    = 2
)

// encoder writes from the end to the beginning, so that it knows the length of a message before it
// writes it. After an error it does nothing of use.
type encoder struct {
	buf     []byte
	at      int // the written bytes begin here
	depth   int
	err     error // the first one
	whole   func(*catalog.Table) bool
	tables  []*catalog.Table
	indexes []*catalog.Index

	staging  bool     // within a Stage
	settings []string // the names of settings that calls ask for
}

// plan writes a plan. It writes the tables last, and so they come first: all are known only then.
func (e *encoder) plan(n plan.Node) error {
	e.require(n != nil, "Plan.root")
	optional(e, planRoot, n, encodeNode)
	for _, x := range slices.Backward(e.indexes) {
		message(e, planIndexes, x, (*encoder).indexRef)
	}
	for _, t := range slices.Backward(e.tables) {
		message(e, planTables, t, (*encoder).tableRef)
	}
	e.bounded()
	return e.err
}

func (e *encoder) tableRef(t *catalog.Table) {
	if e.whole(t) {
		b, err := catalog.MarshalTable(t)
		if err != nil {
			e.fail(err)
		}
		bytes(e, tableDefinition, b)
	}
	number(e, tableVersion, t.Version, encodeUnsigned)
	number(e, tableOID, t.OID, encodeUnsigned)
}

func (e *encoder) indexRef(x *catalog.Index) {
	for place, t := range e.tables {
		for i := range t.Indexes {
			if &t.Indexes[i] == x {
				number(e, indexAt, uint64(i), encodeUnsigned)
				number(e, indexTable, uint64(place+1), encodeUnsigned)
				return
			}
		}
	}
	e.fail(fmt.Errorf("plan: index %q belongs to none of its tables", x.Name))
}

// position returns the position of x in a list, from 1, and appends it first if it is not there.
func position[T comparable](list *[]T, x T) uint64 {
	i := slices.Index(*list, x)
	if i < 0 {
		i = len(*list)
		*list = append(*list, x)
	}
	return uint64(i + 1)
}

// encodeNode writes a step: a message with one field, whose number is the kind.
func encodeNode(e *encoder, n plan.Node) {
	switch s, ok := n.(plan.Stage); {
	case n == nil:
	case ok:
		e.staging = true
		encodeNodeKind(e, bare(s))
		e.staging = false
	default:
		encodeNodeKind(e, n)
	}
}

// encodeExpr does the same for an expression.
func encodeExpr(e *encoder, x query.Expr) {
	if call, ok := x.(*query.Call); ok {
		e.call(call)
	}
	if x != nil {
		encodeExprKind(e, x)
	}
}

// call checks what a function needs. The planner keeps calls that only the gateway can run above a
// Gather, but a call in ON CONFLICT has to run with the rows.
func (e *encoder) call(c *query.Call) {
	switch at := builtin.PlaceOf(c.Proc); {
	case at == builtin.AnywhereNamed:
		if len(c.Args) == 0 {
			return
		}
		if name, ok := c.Args[0].(*query.Const); ok && name.Value.K == types.KindText &&
			!slices.Contains(e.settings, name.Value.S) {
			e.settings = append(e.settings, name.Value.S)
		}
	case at != builtin.Anywhere && e.staging:
		e.fail(pgerr.Unsupported(
			"%s() cannot be called in ON CONFLICT for a row that another node keeps", c.Proc.Name,
		).WithHint("Compute the value in the INSERT's SELECT and read it through EXCLUDED."))
	}
}

// bare returns a stage without the parts that only the gateway runs.
func bare(s plan.Stage) plan.Stage {
	m, oc := s.Modify, s.Modify.OnConflict
	if oc != nil && oc.Returns {
		own := *oc
		own.Assign, own.Where = nil, nil
		oc = &own
	}
	return plan.AtFragment(&plan.Modify{
		Kind: m.Kind, Table: m.Table, Schema: m.Schema, Checks: m.Checks, Indexes: m.Indexes, OnConflict: oc,
		Triggers: m.Triggers,
	})
}

// fail notes the first error.
func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *encoder) unknown(v any) {
	e.fail(fmt.Errorf("plan: %T is not part of a plan that can be sent", v))
}

// require fails if a field is not there.
func (e *encoder) require(there bool, name string) {
	if !there {
		e.fail(fmt.Errorf("plan: %s is missing", name))
	}
}

// enter begins a message. If it returns false there is an error, and the message is left out.
func (e *encoder) enter() bool {
	if e.depth == maxDepth {
		e.fail(tooComplex())
	}
	if e.err != nil {
		return false
	}
	e.depth++
	return true
}

// leave ends a message.
func (e *encoder) leave() {
	e.depth--
	e.bounded()
}

func (e *encoder) bounded() {
	if e.written() > MaxSize {
		e.fail(tooComplex())
	}
}

// display writes a field that is left out if it cannot be sent.
func (e *encoder) display(put func()) {
	if e.err != nil {
		return
	}
	back := e.written()
	put()
	if e.err != nil {
		e.err, e.at = nil, len(e.buf)-back
	}
}

func (e *encoder) written() int { return len(e.buf) - e.at }

// length writes the tag and length of a field. Before its contents written() was back.
func (e *encoder) length(n protowire.Number, back int) {
	e.varint(uint64(e.written() - back))
	e.varint(protowire.EncodeTag(n, protowire.BytesType))
}

func (e *encoder) varint(n uint64) {
	if n < 0x80 {
		e.room(1)
		e.buf[e.at] = byte(n)
		return
	}
	size := protowire.SizeVarint(n)
	e.room(size)
	protowire.AppendVarint(e.buf[e.at:e.at:e.at+size], n)
}

// room makes room for bytes in front of those written before.
func (e *encoder) room(size int) {
	if size > e.at {
		used := e.written()
		next := make([]byte, max(512, 2*len(e.buf), used+2*size))
		copy(next[len(next)-used:], e.buf[e.at:])
		e.buf, e.at = next, len(next)-used
	}
	e.at -= size
}
