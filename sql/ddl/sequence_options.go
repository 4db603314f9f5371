package ddl

import (
	"math"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// sequenceChange is the result of applying options to a sequence (init_params in PostgreSQL).
type sequenceChange struct {
	to     catalog.Sequence
	counts bool     // an option other than OWNED BY is present
	owner  []string // of OWNED BY; nil if absent
}

// optionNames are the options of sequences and identity columns.
var optionNames = map[string]bool{
	"as": true, "increment": true, "start": true, "restart": true, "maxvalue": true, "minvalue": true, "cache": true,
	"cycle": true, "owned_by": true,
}

// sequenceOptions reads the options of a new sequence, or of t if it is not nil.
func (c *change) sequenceOptions(options []*pg_query.Node, t *catalog.Table, identity bool) (sequenceChange, error) {
	o := sequenceReader{change: c, said: map[string]*pg_query.DefElem{}, identity: identity}
	if err := o.collect(options); err != nil {
		return o.x, err
	}
	if t == nil {
		o.x.to, o.fresh = catalog.Sequence{Type: types.Int8, Increment: 1, Cache: 1}, true
	} else {
		o.x.to = *t.Sequence
		if o.x.counts {
			value, called, err := c.sequenceState(t)
			if err != nil {
				return o.x, err
			}
			o.x.to.Value, o.x.to.Called = value, called
		}
	}
	for _, read := range []func() error{o.dataType, o.increment, o.bounds, o.start, o.restart, o.cache} {
		if err := read(); err != nil {
			return o.x, err
		}
	}
	return o.x, nil
}

type sequenceReader struct {
	*change
	x        sequenceChange
	said     map[string]*pg_query.DefElem
	fresh    bool // a new sequence: absent options have defaults
	identity bool
	resetMax bool // the bound was that of the previous type
	resetMin bool
}

func (o *sequenceReader) collect(options []*pg_query.Node) error {
	for _, n := range options {
		e := n.GetDefElem()
		switch {
		case e.Defname == "sequence_name":
			return pgerr.New(pgerr.SyntaxError, "invalid sequence option SEQUENCE NAME").At(o.pos(e.Location))
		case !optionNames[e.Defname]:
			return pgerr.Unsupported("option %q of sequences is not supported yet", e.Defname)
		case o.said[e.Defname] != nil:
			return pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(o.pos(e.Location))
		}
		o.said[e.Defname] = e
		if e.Defname == "owned_by" {
			o.x.owner = texts(e.Arg.GetList().GetItems())
		} else {
			o.x.counts = true
		}
	}
	return nil
}

// number returns an option's number; ok is false if the option is absent or has no number.
func (o *sequenceReader) number(name string) (n int64, ok bool, err error) {
	e := o.said[name]
	if e == nil || e.Arg == nil {
		return 0, false, nil
	}
	switch a := e.Arg.Node.(type) {
	case *pg_query.Node_Integer:
		return int64(a.Integer.Ival), true, nil
	case *pg_query.Node_Float:
		d, err := types.Input(types.Int8, -1, a.Float.Fval, o.Env.Env)
		return d.N, true, err
	}
	return 0, false, pgerr.New(pgerr.SyntaxError, "%s requires a numeric value", name)
}

// limits returns the least and the greatest value of a sequence's type.
func limits(typ types.OID) (least, greatest int64) {
	switch typ {
	case types.Int2:
		return math.MinInt16, math.MaxInt16
	case types.Int4:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func (o *sequenceReader) dataType() error {
	e := o.said["as"]
	if e == nil {
		return nil
	}
	typ, _, err := analyze.TypeName(o.analysis(), o.source, e.Arg.GetTypeName())
	if err != nil {
		return err
	}
	switch {
	case !isInteger(typ) && o.identity:
		return wrongIdentityType()
	case !isInteger(typ):
		return pgerr.New(pgerr.InvalidParameterValue, "sequence type must be smallint, integer, or bigint")
	}
	if !o.fresh {
		least, greatest := limits(o.x.to.Type)
		o.resetMax, o.resetMin = o.x.to.Max == greatest, o.x.to.Min == least
	}
	o.x.to.Type = typ
	return nil
}

func (o *sequenceReader) increment() error {
	n, ok, err := o.number("increment")
	if err != nil {
		return err
	}
	if ok {
		if n == 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "INCREMENT must not be zero")
		}
		o.x.to.Increment = n
	}
	if e := o.said["cycle"]; e != nil {
		o.x.to.Cycle = e.Arg.GetBoolean().GetBoolval()
	}
	return nil
}

func (o *sequenceReader) bounds() error {
	s := &o.x.to
	least, greatest := limits(s.Type)
	n, ok, err := o.number("maxvalue")
	switch {
	case err != nil:
		return err
	case ok:
		s.Max = n
	case o.fresh || o.said["maxvalue"] != nil || o.resetMax:
		s.Max = -1
		if s.Increment > 0 || o.resetMax {
			s.Max = greatest
		}
	}
	if s.Max < least || s.Max > greatest {
		return o.outOfRange("MAXVALUE", s.Max)
	}
	n, ok, err = o.number("minvalue")
	switch {
	case err != nil:
		return err
	case ok:
		s.Min = n
	case o.fresh || o.said["minvalue"] != nil || o.resetMin:
		s.Min = 1
		if s.Increment < 0 || o.resetMin {
			s.Min = least
		}
	}
	if s.Min < least || s.Min > greatest {
		return o.outOfRange("MINVALUE", s.Min)
	}
	if s.Min >= s.Max {
		return pgerr.New(pgerr.InvalidParameterValue, "MINVALUE (%d) must be less than MAXVALUE (%d)", s.Min, s.Max)
	}
	return nil
}

func (o *sequenceReader) outOfRange(option string, n int64) error {
	return pgerr.New(pgerr.InvalidParameterValue, "%s (%d) is out of range for sequence data type %s", option, n,
		pgcatalog.FormatType(o.x.to.Type, -1))
}

func (o *sequenceReader) start() error {
	s := &o.x.to
	n, ok, err := o.number("start")
	switch {
	case err != nil:
		return err
	case ok:
		s.Start = n
	case o.fresh && s.Increment > 0:
		s.Start = s.Min
	case o.fresh:
		s.Start = s.Max
	}
	return within("START", s.Start, s)
}

func (o *sequenceReader) restart() error {
	s := &o.x.to
	n, ok, err := o.number("restart")
	if err != nil {
		return err
	}
	if o.fresh || o.said["restart"] != nil {
		s.Value, s.Called = s.Start, false
		if ok {
			s.Value = n
		}
	}
	if !o.fresh && !o.x.counts {
		return nil // only OWNED BY: no other option was read
	}
	return within("RESTART", s.Value, s)
}

func within(option string, n int64, s *catalog.Sequence) error {
	switch {
	case n < s.Min:
		return pgerr.New(pgerr.InvalidParameterValue, "%s value (%d) cannot be less than MINVALUE (%d)", option,
			n, s.Min)
	case n > s.Max:
		return pgerr.New(pgerr.InvalidParameterValue, "%s value (%d) cannot be greater than MAXVALUE (%d)", option, n,
			s.Max)
	}
	return nil
}

func (o *sequenceReader) cache() error {
	n, ok, err := o.number("cache")
	if err != nil || !ok {
		return err
	}
	if n <= 0 {
		return pgerr.New(pgerr.InvalidParameterValue, "CACHE (%s) must be greater than zero", strconv.FormatInt(n, 10))
	}
	o.x.to.Cache = n
	return nil
}

// sequenceState returns the current state of a sequence. A sequence that this statement created is
// not stored yet.
func (c *change) sequenceState(t *catalog.Table) (value int64, called bool, err error) {
	if c.view.Table(t.OID) == nil {
		return t.Sequence.Value, t.Sequence.Called, nil
	}
	return c.Sequence(c.ctx, t)
}
