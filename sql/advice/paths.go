package advice

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/shardmap"
)

// Paths finds the fields of documents that a policy could use: those with a single value in nearly
// all documents, and with more than one distinct value.
type Paths struct {
	documents int
	fields    map[string]*pathUse // by the field's text
}

type pathUse struct {
	field  shardmap.Field
	found  int
	values map[string]struct{} // the first pathValues distinct values
}

const (
	pathDepth  = 3
	pathValues = 4096
	pathText   = 256  // longer values are not keys
	pathShare  = 0.95 // of the documents that have the field
	maxPaths   = 1000
)

// NewPaths returns a Paths without documents.
func NewPaths() *Paths { return &Paths{fields: map[string]*pathUse{}} }

// Add counts the fields of a document.
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

// Fields returns the most promising fields, at most n: first those with many values that recur.
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

// worth returns a higher value for a field by which documents belong together. A value that differs
// in each document is a name; one that is equal in most is a class.
func (u *pathUse) worth() float64 {
	distinct := float64(len(u.values))
	if distinct > 0.9*float64(u.found) {
		return 1 // as good as the id, but not better
	}
	return 1 + distinct
}
