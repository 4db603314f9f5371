package expr

import (
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// jsonStep is one step of a constant path.
type jsonStep struct {
	key   string
	index int
	kind  stepKind
}

type stepKind uint8

const (
	stepKey   stepKind = iota // -> text: objects only
	stepIndex                 // -> int: arrays only
	stepAny                   // #>: a key of an object or a position of an array
)

// fastJSONPath compiles a chain of ->, ->>, #>, #>> with constant keys into one walk over the document's bytes.
func (k *Compiler) fastJSONPath(n *query.Call) (Eval, bool, error) {
	base, steps, text, ok := jsonPath(n)
	if !ok {
		return nil, false, nil
	}
	doc, err := k.Expr(base)
	if err != nil {
		return nil, false, err
	}
	if len(steps) == 1 && steps[0].kind == stepKey && text {
		return jsonField(doc, steps[0].key), true, nil
	}
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := doc(c, row)
		if err != nil || d.K == types.KindNull {
			return types.Null, err
		}
		v, ok := walkJSON(jsonb.Doc(d.S), steps)
		if !ok {
			return types.Null, nil
		}
		if !text {
			return types.NewJSONB(string(v)), nil
		}
		if s, ok := v.AsText(); ok {
			return types.NewText(s), nil
		}
		return types.Null, nil
	}, true, nil
}

// jsonField is doc ->> 'key'.
func jsonField(doc Eval, key string) Eval {
	return func(c *Ctx, row types.Row) (types.Datum, error) {
		d, err := doc(c, row)
		if err != nil || d.K == types.KindNull {
			return types.Null, err
		}
		s, ok := jsonb.Doc(d.S).GetText(key)
		if !ok {
			return types.Null, nil
		}
		return types.NewText(s), nil
	}
}

func walkJSON(v jsonb.Doc, steps []jsonStep) (jsonb.Doc, bool) {
	for i := range steps {
		var ok bool
		switch s := &steps[i]; s.kind {
		case stepKey:
			v, ok = v.Get(s.key)
		case stepIndex:
			v, ok = v.Index(s.index)
		default:
			v, ok = v.Path(s.key)
		}
		if !ok {
			return "", false
		}
	}
	return v, true
}

// jsonPath splits a chain of accessors. text reports whether the last one returns text.
func jsonPath(e query.Expr) (base query.Expr, steps []jsonStep, text, ok bool) {
	for {
		n, isCall := e.(*query.Call)
		if !isCall {
			return e, steps, text, steps != nil
		}
		step, asText, known := jsonSteps(n)
		if !known || asText && steps != nil {
			return e, steps, text, steps != nil
		}
		text = text || asText
		steps = append(step, steps...)
		e = n.Args[0]
	}
}

// jsonSteps returns the steps of one accessor with a constant operand.
func jsonSteps(n *query.Call) (steps []jsonStep, text, ok bool) {
	if len(n.Args) != 2 {
		return nil, false, false
	}
	v, isConst := n.Args[1].(*query.Const)
	if !isConst || v.Value.IsNull() {
		return nil, false, false
	}
	switch n.Proc.Src {
	case "jsonb_object_field", "jsonb_object_field_text":
		return []jsonStep{{key: v.Value.S}}, n.Proc.Src == "jsonb_object_field_text", true
	case "jsonb_array_element", "jsonb_array_element_text":
		return []jsonStep{{index: int(v.Value.N), kind: stepIndex}}, n.Proc.Src == "jsonb_array_element_text", true
	case "jsonb_extract_path", "jsonb_extract_path_text":
		steps, ok = pathSteps(v.Value)
		return steps, n.Proc.Src == "jsonb_extract_path_text", ok && len(steps) > 0
	}
	return nil, false, false
}
