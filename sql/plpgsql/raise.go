package plpgsql

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/plpgsql/syntax"
	"github.com/sherddb/sherd/sql/types"
)

// raise runs RAISE.
func (f *frame) raise(s *syntax.Raise) error {
	if s.Again {
		if f.handled == nil {
			return pgerr.New(pgerr.NoActiveHandler,
				"RAISE without parameters cannot be used outside an exception handler")
		}
		again := *f.handled
		f.placed = &placed{&again, nil} // its CONTEXT is that of the first time
		return f.placed
	}
	e := &pgerr.Error{}
	if s.Condition != "" {
		e.Code = stateOf(s.Condition)
		e.Message = s.Condition
	}
	if s.HasFormat {
		text, err := f.format(s)
		if err != nil {
			return err
		}
		e.Message = text
	}
	if err := f.raiseOptions(s, e); err != nil {
		return err
	}
	if e.Code == "" && s.Level == "exception" {
		e.Code = pgerr.RaiseException
	}
	if e.Message == "" && !s.HasFormat {
		e.Message = e.Code
	}
	if s.Level == "exception" {
		return e
	}
	return f.notice(s, e)
}

// notice sends a message that is no error.
func (f *frame) notice(s *syntax.Raise, e *pgerr.Error) error {
	e.Severity = strings.ToUpper(s.Level)
	if e.Code == "" {
		e.Code = pgerr.SuccessfulCompletion
		if s.Level == "warning" {
			e.Code = pgerr.Warning
		}
	}
	e.Where = f.place()
	return f.call.Notice(e)
}

// stateOf returns the SQLSTATE of a condition's name, or the SQLSTATE itself.
func stateOf(condition string) string {
	if codes := syntax.SQLStates(condition); codes != nil {
		return codes[0]
	}
	return condition
}

// format returns the message of a RAISE: each % is an argument.
func (f *frame) format(s *syntax.Raise) (string, error) {
	var b strings.Builder
	n := 0
	for i := 0; i < len(s.Message); i++ {
		c := s.Message[i]
		switch {
		case c != '%':
			b.WriteByte(c)
		case i+1 < len(s.Message) && s.Message[i+1] == '%':
			b.WriteByte('%')
			i++
		default:
			text, ok, err := f.textOf(s.Args[n])
			if err != nil {
				return "", err
			}
			if !ok {
				text = "<NULL>"
			}
			b.WriteString(text)
			n++
		}
	}
	return b.String(), nil
}

func (f *frame) raiseOptions(s *syntax.Raise, e *pgerr.Error) error {
	given := map[string]bool{"message": s.HasFormat, "errcode": s.Condition != ""}
	for i := range s.Options {
		o := &s.Options[i]
		text, ok, err := f.textOf(o.Value)
		if err != nil {
			return err
		}
		if !ok {
			return pgerr.New(pgerr.NullValueNotAllowed, "RAISE statement option cannot be null")
		}
		if given[o.Name] {
			return pgerr.New(pgerr.SyntaxError, "RAISE option already specified: %s", strings.ToUpper(o.Name))
		}
		given[o.Name] = true
		switch o.Name {
		case "errcode":
			if e.Code = stateOf(text); len(e.Code) != 5 {
				return pgerr.New(pgerr.UndefinedObject, "unrecognized exception condition %q", text)
			}
			if e.Message == "" {
				e.Message = text
			}
		case "message":
			e.Message = text
		case "detail":
			e.Detail = text
		case "hint":
			e.Hint = text
		case "column":
			e.Column = text
		case "constraint":
			e.Constraint = text
		case "datatype":
			e.DataType = text
		case "table":
			e.Table = text
		case "schema":
			e.Schema = text
		}
	}
	return nil
}

// getDiagnostics runs GET DIAGNOSTICS.
func (f *frame) getDiagnostics(s *syntax.GetDiagnostics) error {
	if s.Stacked && f.handled == nil {
		return pgerr.New(pgerr.NoActiveHandler, "GET STACKED DIAGNOSTICS cannot be used outside an exception handler")
	}
	for i := range s.Items {
		item := &s.Items[i]
		d, of := types.NewText(f.diagnostic(item.Item)), function.Typed{OID: types.Text, Typmod: -1}
		if item.Item == "row_count" {
			d, of.OID = types.NewInt(f.rows), types.Int8
		}
		if err := f.set(&item.Target, d, of, nil); err != nil {
			return err
		}
	}
	return nil
}

// diagnostic returns the text of an item.
func (f *frame) diagnostic(item string) string {
	if item == "pg_context" {
		return f.place()
	}
	e := f.handled
	if e == nil {
		return ""
	}
	switch item {
	case "returned_sqlstate":
		return e.Code
	case "message_text":
		return e.Message
	case "pg_exception_detail":
		return e.Detail
	case "pg_exception_hint":
		return e.Hint
	case "pg_exception_context":
		return e.Where
	case "column_name":
		return e.Column
	case "constraint_name":
		return e.Constraint
	case "pg_datatype_name":
		return e.DataType
	case "table_name":
		return e.Table
	case "schema_name":
		return e.Schema
	}
	return ""
}
