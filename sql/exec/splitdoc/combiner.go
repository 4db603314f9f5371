package splitdoc

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// Combiner adds the sums of the parts of split documents to the counters in their rows, as a scan
// reads them. The gateway has read the sums at the statement's timestamp and in its transaction, so
// row and parts belong to one state.
type Combiner struct {
	sums   expr.Eval
	hot    *catalog.Hot
	places []place
	// By encoded primary key, of the running task: the sum of each counter, null for none.
	added map[string][]types.Datum
}

// place is a counter among the slots of a scan.
type place struct {
	slot, counter int
	column        *catalog.Column
	path          []string
}

// NewCombiner compiles the sums of a scan; nil if it has none. The Combiner belongs to the instance
// that k compiles.
func NewCombiner(k *expr.Compiler, n *plan.Scan) (*Combiner, error) {
	if n.Sums == nil {
		return nil, nil
	}
	if n.Table.Hot == nil {
		return nil, pgerr.New(pgerr.InternalError, "table %q has no split documents", n.Table.Name)
	}
	f, err := k.Expr(n.Sums)
	if err != nil {
		return nil, err
	}
	o := &Combiner{sums: f, hot: n.Table.Hot}
	for i, c := range n.Table.Hot.Counters {
		for slot, at := range n.Slots {
			if col := &n.Table.Columns[max(at, 0)]; at == int(c.Column)-1 && !col.Dropped {
				o.places = append(o.places, place{slot, i, col, c.Path})
			}
		}
	}
	k.Own(o)
	return o, nil
}

// Start reads the sums.
func (o *Combiner) Start(c *expr.Ctx) error {
	o.added = nil
	d, err := o.sums(c, nil)
	if err != nil || d.IsNull() {
		return err
	}
	for _, doc := range jsonb.Doc(d.S).Elements() {
		number, sums, err := o.sum(doc)
		if err != nil {
			return err
		}
		if x := o.hot.Document(number); x != nil {
			if o.added == nil {
				o.added = map[string][]types.Datum{}
			}
			o.added[string(x.Key)] = sums
		}
	}
	return nil
}

// sum reads the sums of one document.
func (o *Combiner) sum(doc jsonb.Doc) (number int32, sums []types.Datum, err error) {
	sums = make([]types.Datum, len(o.hot.Counters))
	for i, v := range doc.Elements() {
		if v.Kind() == jsonb.Null || i > len(sums) {
			continue
		}
		text, _ := v.AsText()
		d, err := types.ParseNumeric(text)
		if err != nil {
			return 0, nil, err
		}
		if i > 0 {
			sums[i-1] = d
			continue
		}
		n, err := types.NumericToInt(d, types.Int4)
		if err != nil {
			return 0, nil, err
		}
		number = int32(n)
	}
	return number, sums, nil
}

// Apply adds the sums to the counters of a row, if it belongs to a split document.
func (o *Combiner) Apply(key []byte, row types.Row) error {
	if len(o.added) == 0 {
		return nil
	}
	sums := o.added[string(key[table.KeyAt:])]
	if sums == nil {
		return nil
	}
	for i := range o.places {
		p := &o.places[i]
		if d := sums[p.counter]; !d.IsNull() && types.NumericSign(d) != 0 {
			sum, err := p.plus(row[p.slot], d)
			if err != nil {
				return err
			}
			row[p.slot] = sum
		}
	}
	return nil
}

// plus adds to a counter in its column's value. A value that is not a number has no parts, so that
// case is an internal error.
func (p *place) plus(d, n types.Datum) (types.Datum, error) {
	switch {
	case d.IsNull():
	case d.K == types.KindInt:
		sum, err := types.NumericAdd(types.NumericFromInt(d.N), n)
		if err != nil {
			return d, err
		}
		v, err := types.NumericToInt(sum, p.column.Type)
		return types.NewInt(v), err
	case d.K == types.KindNumeric:
		return types.NumericAdd(d, n)
	case d.K == types.KindJSONB && len(p.path) > 0:
		doc := jsonb.Doc(d.S)
		sum, ok, err := addToNumber(doc, p.path, n)
		if err != nil {
			return d, err
		}
		if ok {
			doc, err = doc.Set(jsonb.Steps(p.path...), sum, false)
			return types.OfDoc(doc), err
		}
	}
	return d, pgerr.New(pgerr.InternalError,
		"counter %q of a split document is no number, but has parts", p.column.Name)
}

// CounterOf returns the value of a counter in a stored row without its parts, null if it is not a
// number.
func CounterOf(c catalog.Counter, row types.Row) (types.Datum, error) {
	switch d := row[c.Column-1]; d.K {
	case types.KindInt:
		return types.NumericFromInt(d.N), nil
	case types.KindNumeric:
		return d.Clone(), nil
	case types.KindJSONB:
		if v, ok := jsonb.Doc(d.S).Path(c.Path...); ok && v.Kind() == jsonb.Number {
			text, _ := v.AsText()
			return types.ParseNumeric(text)
		}
	}
	return types.Null, nil
}

// addToNumber adds to the number at a path; ok is false if there is none.
func addToNumber(doc jsonb.Doc, path []string, n types.Datum) (sum jsonb.Doc, ok bool, err error) {
	v, ok := doc.Path(path...)
	if !ok || v.Kind() != jsonb.Number {
		return "", false, nil
	}
	text, _ := v.AsText()
	d, err := types.ParseNumeric(text)
	if err == nil {
		d, err = types.NumericAdd(d, n)
	}
	if err != nil {
		return "", false, err
	}
	sum, err = jsonb.OfNumber(string(types.AppendNumeric(nil, d)))
	return sum, err == nil, err
}
