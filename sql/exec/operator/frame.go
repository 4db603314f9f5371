package operator

import (
	"cmp"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Bits of query.Frame.Options, as in PostgreSQL's parsenodes.h.
const (
	frameRange          = 0x2
	frameRows           = 0x4
	frameGroups         = 0x8
	startUnboundedPrec  = 0x20
	endUnboundedPrec    = 0x40
	startUnboundedFoll  = 0x80
	endUnboundedFoll    = 0x100
	startCurrentRow     = 0x200
	endCurrentRow       = 0x400
	startOffsetPrec     = 0x800
	endOffsetPrec       = 0x1000
	startOffsetFoll     = 0x2000
	endOffsetFoll       = 0x4000
	excludeCurrent      = 0x8000
	excludeGroup        = 0x10000
	excludeTies         = 0x20000
	defaultFrameOptions = frameRange | startUnboundedPrec | endCurrentRow
)

// frame is a frame clause.
type frame struct {
	options    int
	start, end expr.Eval
	order      types.OID // type of the only ORDER BY column, for RANGE with offsets
	offset     [2]types.OID
	desc       bool
}

func (k *Compiler) frame(s query.Window) (*frame, error) {
	f := &frame{options: s.Frame.Options}
	if f.options&(frameRange|frameRows|frameGroups) == 0 {
		f.options = defaultFrameOptions
	}
	var err error
	if f.start, err = k.Optional(s.Frame.Start); err != nil {
		return nil, err
	}
	if f.end, err = k.Optional(s.Frame.End); err != nil {
		return nil, err
	}
	if f.options&frameRange != 0 && (f.start != nil || f.end != nil) {
		if len(s.Order) != 1 {
			return nil, pgerr.New(
				pgerr.WindowingError,
				"RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
			)
		}
		f.order, f.desc = s.Order[0].Expr.Type(), s.Order[0].Desc
		for i, e := range []query.Expr{s.Frame.Start, s.Frame.End} {
			if e != nil {
				f.offset[i] = e.Type()
			}
		}
	}
	return f, nil
}

// frameRun is a frame over one partition.
type frameRun struct {
	*frame
	c          *Execution
	p          *windowPartition
	start, end frameEdge
}

// frameEdge is an edge that an offset bounds.
type frameEdge struct {
	offset types.Datum
	typ    types.OID // of the offset
	ends   bool      // the frame ends there
	last   int       // where the edge was of the row before: the next one is near
}

func (f *frame) begin(c *Execution, p *windowPartition) (*frameRun, error) {
	r := &frameRun{
		frame: f, c: c, p: p, start: frameEdge{typ: f.offset[0]}, end: frameEdge{typ: f.offset[1], ends: true},
	}
	var err error
	if r.start.offset, err = f.offsetValue(c, f.start, "starting"); err != nil {
		return nil, err
	}
	r.end.offset, err = f.offsetValue(c, f.end, "ending")
	return r, err
}

func (f *frame) offsetValue(c *Execution, e expr.Eval, which string) (types.Datum, error) {
	if e == nil {
		return types.Null, nil
	}
	d, err := e(&c.Ctx, nil)
	switch {
	case err != nil:
		return types.Null, err
	case d.IsNull():
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "frame %s offset must not be null", which)
	case f.options&frameRange == 0 && d.N < 0:
		return types.Null, pgerr.New(pgerr.InvalidPrecedingOrFollowing, "frame %s offset must not be negative", which)
	case f.options&frameRange != 0 && negative(d, f.order):
		return types.Null, pgerr.New(
			pgerr.InvalidPrecedingOrFollowing,
			"invalid preceding or following size in window function",
		)
	}
	return d, nil
}

// bounds returns the half-open frame of row i.
func (r *frameRun) bounds(i int) (start, end int, err error) {
	n, o := r.p.len(), r.options
	switch {
	case o&startUnboundedPrec != 0:
		start = 0
	case o&startUnboundedFoll != 0:
		start = n
	case o&startCurrentRow != 0:
		if start = i; o&frameRows == 0 {
			start = r.p.peers.start
		}
	default:
		start, err = r.edge(i, &r.start, o&startOffsetPrec != 0)
	}
	if err != nil {
		return 0, 0, err
	}
	switch {
	case o&endUnboundedFoll != 0:
		end = n
	case o&endUnboundedPrec != 0:
		end = 0
	case o&endCurrentRow != 0:
		if end = i + 1; o&frameRows == 0 {
			end = r.p.peers.end
		}
	default:
		end, err = r.edge(i, &r.end, o&endOffsetPrec != 0)
	}
	return start, end, err
}

// edge returns the first row of a frame, or the row after its last one, that an offset bounds.
func (r *frameRun) edge(i int, e *frameEdge, preceding bool) (at int, err error) {
	n := r.p.len()
	if r.options&frameRange != 0 {
		return r.rangeEdge(i, e, preceding)
	}
	by := int(min(e.offset.N, int64(n)))
	if preceding {
		by = -by
	}
	after := 0
	if e.ends {
		after = 1
	}
	if r.options&frameRows != 0 {
		return min(max(i+by+after, 0), n), nil
	}
	row, err := r.p.at(i)
	if err == nil {
		e.last, err = r.p.firstOf(r.p.groupOf(row)+int64(by+after), e.last)
	}
	return e.last, err
}

// rangeEdge finds the edge by value, because rows are sorted. Rows with null are peers.
func (r *frameRun) rangeEdge(i int, e *frameEdge, preceding bool) (int, error) {
	row, err := r.p.at(i)
	if err != nil {
		return 0, err
	}
	key := r.p.spec.keys[r.p.spec.nPart]
	value := row[key.slot]
	if value.IsNull() {
		if e.ends {
			return r.p.peers.end, nil
		}
		return r.p.peers.start, nil
	}
	bound, err := r.shifted(value, e.offset, e.typ, preceding != r.desc)
	if err != nil {
		return 0, err
	}
	if bound.IsNaN() && !value.IsNaN() { // infinity and an infinite offset: the frame has all rows
		bound = infinite(value, e.ends == r.desc)
	}
	if bound.K == types.KindTimestamp && value.K == types.KindDate {
		key.compare = func(a, b types.Datum) int { return cmp.Compare(micros(a), micros(b)) }
	}
	e.last, err = r.p.search(e.last, func(row types.Row) bool {
		c := key.datums(&row[key.slot], &bound)
		return c > 0 || c == 0 && !e.ends
	})
	return e.last, err
}

// excluded returns a function that reports whether EXCLUDE removes a row from the frame of row i;
// nil if it removes none.
func (r *frameRun) excluded(i int) func(int) bool {
	switch {
	case r.options&excludeCurrent != 0:
		return func(j int) bool { return j == i }
	case r.options&(excludeGroup|excludeTies) == 0:
		return nil
	}
	from, to := r.p.peers.start, r.p.peers.end
	keepSelf := r.options&excludeTies != 0
	return func(j int) bool { return j >= from && j < to && !(keepSelf && j == i) }
}
