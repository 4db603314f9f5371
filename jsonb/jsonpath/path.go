package jsonpath

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
)

// SQLSTATEs of SQL/JSON.
const (
	codeDatetimeArgument = "22031"
	codeSubscript        = "22033"
	codeNonNumeric       = "22036"
	codeSingleton        = "22038"
	codeNoArray          = "22039"
	codeNoMember         = "2203A"
	codeNoNumber         = "2203B"
	codeNoObject         = "2203C"
)

// Options are the optional arguments of the jsonb_path_* functions.
type Options struct {
	// Context ends the evaluation by its cause; nil is never canceled.
	Context context.Context
	// Vars is the object whose keys are the variables; empty for the operators, where every
	// variable is null.
	Vars jsonb.Doc
	// Silent suppresses the errors of structure, arithmetic and datetime.
	Silent bool
	// Zone allows comparisons that need a time zone (the functions that end in _tz): the offset
	// from UTC in seconds of the session's zone at a local time, given as microseconds since 1970
	// as if in UTC. Nil forbids them.
	Zone func(localMicros int64) int
	// Today is the session's date, in days since 1970, on which Zone is asked for a time of day.
	Today int64
}

// Exists reports whether the path yields any item: jsonb_path_exists and, with Silent and no Vars,
// the operator @?. null is true if a suppressed error leaves the answer open.
func (p *Path) Exists(d jsonb.Doc, o Options) (exists, null bool, err error) {
	e, err := p.start(d, o)
	if err != nil {
		return false, false, err
	}
	var res result
	if e.lax {
		res = e.run(p.root, item{doc: d}, nil)
	} else { // all items have to be seen, because any may be an error
		var found list
		if res = e.run(p.root, item{doc: d}, &found); res != failed {
			res = some(len(found) > 0)
		}
	}
	return res == matched, res == failed, e.err
}

// Match returns the boolean result of the path: jsonb_path_match and, with Silent and no Vars, the
// operator @@.
func (p *Path) Match(d jsonb.Doc, o Options) (value, null bool, err error) {
	found, err := p.find(d, o)
	if err != nil {
		return false, false, err
	}
	if len(found) == 1 && found[0].dt == nil {
		if v, ok := found[0].doc.Bool(); ok {
			return v, false, nil
		}
		if found[0].doc.IsNull() {
			return false, true, nil
		}
	}
	if !o.Silent {
		return false, false, pgerr.New(codeSingleton, "single boolean result is expected")
	}
	return false, true, nil
}

// Query returns all items: jsonb_path_query. With Silent, those found before the first error.
func (p *Path) Query(d jsonb.Doc, o Options) ([]jsonb.Doc, error) {
	found, err := p.find(d, o)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	docs := make([]jsonb.Doc, len(found))
	for i, it := range found {
		docs[i] = it.value()
	}
	return docs, nil
}

// QueryArray is jsonb_path_query_array.
func (p *Path) QueryArray(d jsonb.Doc, o Options) (jsonb.Doc, error) {
	found, err := p.find(d, o)
	if err != nil {
		return "", err
	}
	var b jsonb.Builder
	b.BeginArray()
	for _, it := range found {
		b.Doc(it.value())
	}
	b.End()
	return b.Finish()
}

// First is jsonb_path_query_first; ok is false (SQL NULL) if there is none.
func (p *Path) First(d jsonb.Doc, o Options) (v jsonb.Doc, ok bool, err error) {
	found, err := p.find(d, o)
	if err != nil || len(found) == 0 {
		return "", false, err
	}
	return found[0].value(), true, nil
}

func (p *Path) find(d jsonb.Doc, o Options) (list, error) {
	e, err := p.start(d, o)
	if err != nil {
		return nil, err
	}
	var found list
	e.run(p.root, item{doc: d}, &found)
	return found, e.err
}

func (p *Path) start(d jsonb.Doc, o Options) (*evaluation, error) {
	e := &evaluation{
		ctx: o.Context, vars: o.Vars, zone: o.Zone, today: o.Today, root: item{doc: d}, current: item{doc: d},
		base: base{doc: d}, generated: 1,
		lax: !p.strict, lenient: !p.strict, throw: !o.Silent, size: -1,
	}
	if len(o.Vars) > 0 {
		e.generated = 2
		if o.Vars.Kind() != jsonb.Object {
			return nil, pgerr.New(pgerr.InvalidParameterValue, `"vars" argument is not an object`).
				WithDetail(`Jsonpath parameters should be encoded as key-value pairs of "vars" object.`)
		}
	}
	return e, nil
}
