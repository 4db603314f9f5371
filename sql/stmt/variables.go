package stmt

import (
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// analysis analyzes the query of a program that does not follow from its text alone.
type analysis func(c *Compiler) (*query.Query, []types.OID, error)

// ForFunction compiles a statement of a function, in which names may mean the function's variables. It
// is not kept in the cache.
func (c *Compiler) ForFunction(st parse.Statement, vars function.Names) (*Program, error) {
	return c.analyzedBy(st, func(c *Compiler) (*query.Query, []types.OID, error) {
		x := c.Analysis(st.Source)
		x.Names = vars
		return c.secured(analyze.Statement(x, st.Node, nil))
	})
}

// ForAssignment compiles the value of an assignment in a function.
func (c *Compiler) ForAssignment(st parse.Statement, a function.Assignment, vars function.Names) (*Program, error) {
	return c.analyzedBy(st, func(c *Compiler) (*query.Query, []types.OID, error) {
		x := c.Analysis(st.Source)
		x.Names = vars
		return c.secured(analyze.Assignment(x, st.Node, a))
	})
}

// ForConversion compiles the conversion of $1 from a type to another, as assignments in functions convert.
func (c *Compiler) ForConversion(st parse.Statement, from, to function.Typed) (*Program, error) {
	return c.analyzedBy(st, func(c *Compiler) (*query.Query, []types.OID, error) {
		e, err := analyze.Conversion(c.Analysis(st.Source), from, to)
		if err != nil {
			return nil, nil, err
		}
		return &query.Query{Targets: []query.Target{{Expr: e, Name: "value"}}}, []types.OID{types.BaseOf(from.OID)}, nil
	})
}

func (c *Compiler) analyzedBy(st parse.Statement, f analysis) (*Program, error) {
	q, params, err := f(c)
	if err != nil {
		return nil, err
	}
	if err := c.checkPrivileges(q); err != nil {
		return nil, err
	}
	p, err := c.Compile(q, params)
	if err != nil {
		return nil, err
	}
	p.Statement, p.analysis = st, f
	if !c.Uncommitted {
		c.Storages.ObserveUses(c.View, p.Tables)
	}
	return p, nil
}

// Renew returns the program of p's statement for the definitions of now.
func (c *Compiler) Renew(p *Program) (*Program, error) {
	if p.analysis != nil {
		return c.analyzedBy(p.Statement, p.analysis)
	}
	return c.Program(p.Statement, p.Params)
}

// again analyzes the statement of a program.
func (c *Compiler) again(p *Program) (*query.Query, []types.OID, error) {
	if p.analysis != nil {
		return p.analysis(c)
	}
	return c.analyze(p.Statement.Source, p.Statement, p.Params)
}
