package advice

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/shardmap"
)

// Paths finds the fields of documents that a policy could be made of: those that nearly all documents have, with a single value, of which there is
// more than one.
type Paths struct {
	documents int
	fields    map[string]*pathUse // by the field's text
}

type pathUse struct {
	field  shardmap.Field
	found  int
	values map[string]struct{} // the first pathValues
}

const (
	pathDepth  = 3
	pathValues = 4096
	pathText   = 256  // longer values are no keys
	pathShare  = 0.95 // of the documents that have the field
	maxPaths   = 1000
)

// NewPaths makes a Paths that has seen no document.
func NewPaths() *Paths { return &Paths{fields: map[string]*pathUse{}} }

// Add looks at a document.
func (p *Paths) Add(d jsonb.Doc) {
	p.documents++
	p.walk(nil, d)
}

func (p *Paths) walk(path []string, d jsonb.Doc) {
	switch d.Kind() {
	case jsonb.Object:
		if len(path) == pathDepth {
			return
		}
		for k, v := range d.Pairs() {
			p.walk(append(path, k), v)
		}
	case jsonb.String, jsonb.Number:
		if text, _ := d.AsText(); len(path) > 0 && len(text) <= pathText {
			p.note(path, text)
		}
	}
}

func (p *Paths) note(path []string, text string) {
	f := shardmap.Field{Path: path}
	u := p.fields[f.String()]
	if u == nil {
		if len(p.fields) >= maxPaths {
			return
		}
		u = &pathUse{field: shardmap.Field{Path: slices.Clone(path)}, values: map[string]struct{}{}}
		p.fields[f.String()] = u
	}
	u.found++
	if len(u.values) < pathValues {
		u.values[strings.Clone(text)] = struct{}{}
	}
}

// Fields gives the most promising fields, at most n: those with values that come again, and many of them, first.
func (p *Paths) Fields(n int) []shardmap.Field {
	var uses []*pathUse
	for _, u := range p.fields {
		if float64(u.found) >= pathShare*float64(p.documents) && len(u.values) > 1 {
			uses = append(uses, u)
		}
	}
	slices.SortFunc(uses, func(a, b *pathUse) int {
		return cmp.Or(cmp.Compare(b.worth(), a.worth()), strings.Compare(a.field.String(), b.field.String()))
	})
	var out []shardmap.Field
	for _, u := range uses[:min(n, len(uses))] {
		out = append(out, u.field)
	}
	return out
}

// worth is larger for a field by which documents belong together: what is different in each document is a name, what is the same in most a class.
func (u *pathUse) worth() float64 {
	distinct := float64(len(u.values))
	if distinct > 0.9*float64(u.found) {
		return 1 // as good as the id, and no better
	}
	return 1 + distinct
}
