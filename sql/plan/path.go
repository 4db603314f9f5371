package plan

import (
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// DocumentPath takes apart a chain of ->, ->>, #>, #>> and subscripts with constant object keys:
// the keys, whether the end is text, and what the chain starts from. base is nil for anything else.
func DocumentPath(e query.Expr) (path []string, text bool, base query.Expr) {
	switch n := e.(type) {
	case *query.Call:
		if len(n.Args) != 2 {
			return nil, false, nil
		}
		var step []string
		switch n.Proc.Src {
		case "jsonb_object_field_text":
			text = true
			step = constantText(n.Args[1])
		case "jsonb_object_field":
			step = constantText(n.Args[1])
		case "jsonb_extract_path_text":
			text = true
			step = constantTexts(n.Args[1])
		case "jsonb_extract_path":
			step = constantTexts(n.Args[1])
		}
		if step == nil {
			return nil, false, nil
		}
		return extend(n.Args[0], step, text)
	case *query.Subscript:
		if n.Slice || n.Assign != nil || n.Base.Type() != types.JSONB {
			return nil, false, nil
		}
		var steps []string
		for _, u := range n.Upper {
			s := constantText(u)
			if s == nil {
				return nil, false, nil
			}
			steps = append(steps, s...)
		}
		return extend(n.Base, steps, false)
	}
	return nil, false, nil
}

func extend(from query.Expr, step []string, text bool) ([]string, bool, query.Expr) {
	if path, isText, base := DocumentPath(from); base != nil && !isText {
		return append(path, step...), text, base
	}
	return step, text, from
}

func constantText(e query.Expr) []string {
	if c, ok := bare(e).(*query.Const); ok && c.Value.K == types.KindText {
		return []string{c.Value.S}
	}
	return nil
}

// constantTexts reads a constant text[] without nulls.
func constantTexts(e query.Expr) []string {
	c, ok := bare(e).(*query.Const)
	if !ok || c.Value.K != types.KindArray {
		return nil
	}
	a, err := types.ArrayOf(c.Value)
	if err != nil {
		return nil
	}
	var out []string
	for _, d := range a.Elems() {
		if d.IsNull() {
			return nil
		}
		out = append(out, d.S)
	}
	return out
}

// contained returns the scalar that a constant document has at path, as a jsonb constant; nil where
// there is none.
func contained(e query.Expr, path []string) query.Expr {
	c, ok := e.(*query.Const)
	if !ok || c.Value.K != types.KindJSONB {
		return nil
	}
	d := jsonb.Doc(c.Value.S)
	for _, step := range path {
		next, ok := d.Get(step)
		if !ok {
			return nil
		}
		d = next
	}
	if d.IsContainer() || d.IsNull() {
		return nil
	}
	return &query.Const{T: query.Of(types.JSONB), Value: types.NewJSONB(string(d))}
}
