package plpgsql

import (
	"errors"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/plpgsql/syntax"
	"github.com/sherddb/sherd/sql/types"
)

// block runs a block.
func (f *frame) block(b *syntax.Block) error {
	if err := f.declare(b.Variables); err != nil {
		return f.located(err)
	}
	var err error
	if b.Catches {
		err = f.catching(b)
	} else {
		err = f.statements(b.Body)
	}
	if err != nil {
		return err
	}
	if f.leaving == exits && f.label != "" && f.label == b.Label {
		f.leaving = goOn
	}
	return nil
}

// declare sets the variables of a block.
func (f *frame) declare(list []*syntax.Variable) error {
	line, what := f.line, f.what
	for _, v := range list {
		f.line, f.what = v.Line, "during statement block local variable initialization"
		if err := f.initialize(v); err != nil {
			return err
		}
	}
	f.line, f.what = line, what
	return nil
}

func (f *frame) initialize(v *syntax.Variable) error {
	own := f.variables[v.Number]
	switch {
	case v.Default != nil:
		d, p, err := f.value(v.Default)
		if err != nil {
			return err
		}
		return f.set(&syntax.Target{Variable: v}, d, p.typed(), nil)
	case own.OID == types.Record:
		f.records[v.Number] = nil
		if own.columns != nil {
			f.records[v.Number] = nullRecord(f.shapeOf(v.Number, own.columns))
		}
		return nil
	case v.Cursor != nil:
		f.values[v.Number] = types.NewText(v.Name)
		return nil
	case types.IsDomain(own.OID): // it may refuse null
		text := function.Typed{OID: types.Unknown, Typmod: -1}
		return f.set(&syntax.Target{Variable: v}, types.Null, text, nil)
	}
	f.values[v.Number] = types.Null
	return nil
}

// catching runs a block with exception handlers: what it writes is undone if it fails.
func (f *frame) catching(b *syntax.Block) error {
	point, err := f.call.Statements.Savepoint()
	if err != nil {
		return f.located(err)
	}
	line, what := f.line, f.what
	failed := f.statements(b.Body)
	if failed == nil {
		point.Release()
		return nil
	}
	e := catchable(failed)
	if e == nil || f.call.Passing != nil && f.call.Passing(failed) {
		point.Rollback()
		return failed
	}
	h := handlerOf(b, e.Code)
	point.Rollback()
	if h == nil {
		return failed
	}
	f.line, f.what, f.placed = line, what, nil
	f.values[b.State.Number], f.values[b.Message.Number] = types.NewText(e.Code), types.NewText(e.Message)
	outer := f.handled
	f.handled = e
	err = f.statements(h.Body)
	f.handled = outer
	return err
}

// catchable returns the error of a statement; nil: it is one that ends the transaction.
func catchable(err error) *pgerr.Error {
	var e *pgerr.Error
	if !errors.As(err, &e) || e.Severity == "FATAL" {
		return nil
	}
	return e
}

// handlerOf returns the handler of an error; nil: there is none.
func handlerOf(b *syntax.Block, code string) *syntax.Handler {
	for i := range b.Exceptions {
		for _, c := range b.Exceptions[i].Conditions {
			if matches(c, code) {
				return &b.Exceptions[i]
			}
		}
	}
	return nil
}

// matches reports whether a condition of a handler means an error. That of a class ends with 000;
// OTHERS means neither a cancel request nor a failed assertion.
func matches(condition, code string) bool {
	switch {
	case condition == "":
		return code != pgerr.QueryCanceled && code != pgerr.AssertFailure
	case condition == code:
		return true
	}
	return condition[2:] == "000" && condition[:2] == code[:min(2, len(code))]
}
