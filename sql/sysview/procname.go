package sysview

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// procs returns the functions that a name finds: those of its schema, or those along the path that
// are not hidden by a function with the same arguments.
func (n *Names) procs(parts []string) []*pgcatalog.Proc {
	name := parts[len(parts)-1]
	schemas := n.searchPath()
	if len(parts) > 1 {
		schemas = parts[len(parts)-2 : len(parts)-1]
	}
	var out []*pgcatalog.Proc
	for _, s := range schemas {
		here := function.Named(n.View, n.Database.OID, s, name)
		for _, p := range pgcatalog.ProcsByName(name) {
			if p.Namespace == s {
				here = append(here, p)
			}
		}
		for _, p := range here {
			if !slices.ContainsFunc(out,
				func(q *pgcatalog.Proc) bool { return slices.Equal(q.ArgTypes, p.ArgTypes) }) {
				out = append(out, p)
			}
		}
	}
	return out
}

// operators returns the operators that a name finds; all are in pg_catalog.
func (n *Names) operators(parts []string) []*pgcatalog.Operator {
	if len(parts) > 1 && parts[len(parts)-2] != pgCatalog {
		return nil
	}
	return pgcatalog.OperatorsByName(parts[len(parts)-1])
}

// splitSignature splits name(type, type); args is nil without parentheses.
func splitSignature(text string) (name string, args []string, signed bool, err error) {
	open := strings.IndexByte(text, '(')
	if open < 0 {
		return text, nil, false, nil
	}
	body := strings.TrimRight(text[open+1:], " \t\n\r\f")
	if !strings.HasSuffix(body, ")") {
		return "", nil, false, pgerr.New(pgerr.InvalidTextRepresentation, "expected a right parenthesis")
	}
	return text[:open], splitTypes(body[:len(body)-1]), true, nil
}

// splitTypes splits at commas outside of parentheses, brackets and quotes.
func splitTypes(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	var out []string
	depth, start, quoted := 0, 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case c == ',' && depth == 0:
			out = append(out, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(s[start:]))
}

// argTypes resolves the types of a signature; NONE, the missing operand of an operator, is 0.
func (n *Names) argTypes(args []string, none bool) ([]uint32, error) {
	out := make([]uint32, len(args))
	for i, a := range args {
		if none && strings.EqualFold(a, "none") {
			continue
		}
		oid, ok, err := n.FindType(a)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, pgerr.New(pgerr.UndefinedObject, `type "%s" does not exist`, a)
		}
		out[i] = oid
	}
	return out, nil
}

// FindProc resolves a function name, or name(types). count is the number of matches.
func (n *Names) FindProc(text string) (oid uint32, count int, err error) {
	name, args, signed, err := splitSignature(text)
	if err != nil {
		return 0, 0, err
	}
	parts, err := n.QualifiedName(name)
	if err != nil {
		return 0, 0, err
	}
	list := n.procs(parts)
	if signed {
		want, err := n.argTypes(args, false)
		if err != nil {
			return 0, 0, err
		}
		list = slices.DeleteFunc(list, func(p *pgcatalog.Proc) bool { return !slices.Equal(p.ArgTypes, want) })
	}
	if len(list) == 0 {
		return 0, 0, nil
	}
	return list[0].OID, len(list), nil
}

// FindOperator resolves an operator name, or name(left, right). count is the number of matches.
func (n *Names) FindOperator(text string) (oid uint32, count int, err error) {
	name, args, signed, err := splitSignature(text)
	if err != nil {
		return 0, 0, err
	}
	parts := []string{strings.TrimSpace(name)}
	if dot := strings.LastIndexByte(parts[0], '.'); dot >= 0 {
		schema, err := SplitName(parts[0][:dot])
		if err != nil {
			return 0, 0, err
		}
		parts = append(schema, parts[0][dot+1:])
	}
	list := slices.Clone(n.operators(parts))
	if signed {
		want, err := n.argTypes(args, true)
		if err != nil {
			return 0, 0, err
		}
		if len(want) != 2 {
			return 0, 0, operatorArguments(len(want))
		}
		list = slices.DeleteFunc(list, func(o *pgcatalog.Operator) bool {
			return o.Left != want[0] || o.Right != want[1]
		})
	}
	if len(list) == 0 {
		return 0, 0, nil
	}
	return list[0].OID, len(list), nil
}

func operatorArguments(n int) error {
	if n < 2 {
		return pgerr.New(pgerr.UndefinedParameter, "missing argument").
			WithHint("Use NONE to denote the missing argument of a unary operator.")
	}
	return pgerr.New(pgerr.TooManyArguments, "too many arguments").WithHint("Provide two argument types for operator.")
}

// ProcName returns a function's name as regproc prints it: qualified unless the bare name finds
// only this function.
func (n *Names) ProcName(oid uint32) (string, bool) {
	p := procOf(n, oid)
	if p == nil {
		return "", false
	}
	list := n.procs([]string{p.Name})
	return n.qualify(p.Namespace, p.Name, len(list) == 1 && list[0].OID == p.OID), true
}

// Signature returns a function as regprocedure prints it: name(types).
func (n *Names) Signature(oid uint32) (string, bool) {
	p := procOf(n, oid)
	if p == nil {
		return "", false
	}
	return n.qualify(p.Namespace, p.Name, n.procVisible(p)) + "(" + n.typeList(p.ArgTypes) + ")", true
}

func (n *Names) procVisible(p *pgcatalog.Proc) bool {
	return slices.ContainsFunc(n.procs([]string{p.Name}), func(q *pgcatalog.Proc) bool { return q.OID == p.OID })
}

func (n *Names) typeList(oids []uint32) string {
	names := make([]string, len(oids))
	for i, o := range oids {
		names[i] = n.FormatType(o, -1)
	}
	return strings.Join(names, ",")
}

// OperatorName returns an operator as regoper prints it: qualified unless the bare name finds only
// this operator.
func (n *Names) OperatorName(oid uint32) (string, bool) {
	o := pgcatalog.OperatorByOID(oid)
	if o == nil {
		return "", false
	}
	if len(pgcatalog.OperatorsByName(o.Name)) == 1 {
		return o.Name, true
	}
	return builtin.QuoteIdent(pgCatalog) + "." + o.Name, true
}

// OperatorSignature returns an operator as regoperator prints it: name(left,right).
func (n *Names) OperatorSignature(oid uint32) (string, bool) {
	o := pgcatalog.OperatorByOID(oid)
	if o == nil {
		return "", false
	}
	side := func(t uint32) string {
		if t == 0 {
			return "NONE"
		}
		return n.FormatType(t, -1)
	}
	return o.Name + "(" + side(o.Left) + "," + side(o.Right) + ")", true
}

// FunctionName returns a function as expressions name it: qualified unless the bare name finds it.
func FunctionName(n *Names, oid uint32) string {
	p := procOf(n, oid)
	if p == nil {
		return catalog.StoredFunctionName + strconv.FormatUint(uint64(oid), 10)
	}
	return n.qualify(p.Namespace, p.Name, n.procVisible(p))
}
