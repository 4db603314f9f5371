package copy

import (
	"fmt"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/copydata"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
)

// Statement is a COPY from or to the client, or a file of the node.
type Statement struct {
	node *pg_query.CopyStmt
	st   parse.Statement
	text string // in which errors have their positions
	opts copydata.Options
}

// New reads the options of a COPY. text is that of the statement, in which errors have positions.
func New(st parse.Statement, n *pg_query.CopyStmt, text string) (*Statement, error) {
	if n.IsProgram {
		return nil, pgerr.Unsupported("COPY with a program of the server is not supported").
			WithHint(`Use \copy in psql, or COPY … FROM STDIN and TO STDOUT.`)
	}
	opts, err := readOptions(n.Options, n.IsFrom, func(loc int32) int { return parse.Position(st.Source, int(loc)) })
	if err != nil {
		return nil, err
	}
	return &Statement{node: n, st: st, text: text, opts: opts}, nil
}

// Into returns a COPY into all columns of a table, for rows that Input.Insert writes.
func Into(rel *pg_query.RangeVar, text string) *Statement {
	return &Statement{node: &pg_query.CopyStmt{Relation: rel, IsFrom: true}, text: text}
}

// IsFrom reports whether the client sends the rows.
func (s *Statement) IsFrom() bool { return s.node.IsFrom }

// table finds the table that is copied to or from.
func (s *Statement) table(c *stmt.Compiler, direction string) (*catalog.Table, error) {
	rv := s.node.Relation
	t, err := analyze.Table(c.Analysis(s.text), rv)
	if pgerr.Is(err, pgerr.WrongObjectType) && pgerr.From(err).Detail != "" { // which names its kind
		if strings.Contains(pgerr.From(err).Detail, "views") {
			return nil, copyOfView(direction, rv.Relname)
		}
		return nil, pgerr.New(pgerr.WrongObjectType, `cannot copy %s sequence "%s"`, direction, rv.Relname)
	}
	if err == nil && t.IsMaterialized() {
		e := pgerr.New(pgerr.WrongObjectType, `cannot copy %s materialized view "%s"`, direction, rv.Relname)
		if direction == "from" {
			e = e.WithHint("Try the COPY (SELECT ...) TO variant.")
		}
		return nil, e
	}
	return t, err
}

func copyOfView(direction, name string) error {
	e := pgerr.New(pgerr.WrongObjectType, `cannot copy %s view "%s"`, direction, name)
	if direction == "to" {
		return e.WithHint("To enable copying to a view, provide an INSTEAD OF INSERT trigger.")
	}
	return e.WithHint("Try the COPY (SELECT ...) TO variant.")
}

// columns finds the columns of a table that are copied.
func (s *Statement) columns(t *catalog.Table) ([]catalog.Column, error) {
	var out []catalog.Column
	if len(s.node.Attlist) == 0 {
		for _, c := range t.Columns {
			if !c.Dropped && c.Generated == "" {
				out = append(out, c)
			}
		}
		return out, nil
	}
	for _, n := range s.node.Attlist {
		name := n.GetString_().GetSval()
		c := t.Column(name)
		if c == nil {
			return nil, pgerr.New(pgerr.UndefinedColumn, `column "%s" of relation "%s" does not exist`, name, t.Name)
		}
		if c.Generated != "" {
			return nil, pgerr.New(pgerr.InvalidColumnReference, `column "%s" is a generated column`, name).
				WithDetail("Generated columns cannot be used in COPY.")
		}
		if slices.ContainsFunc(out, func(o catalog.Column) bool { return o.Name == name }) {
			return nil, pgerr.New(pgerr.DuplicateColumn, `column "%s" specified more than once`, name)
		}
		out = append(out, *c)
	}
	return out, nil
}

// Query returns the query whose rows are copied to the client.
func (s *Statement) Query(c *stmt.Compiler) (parse.Statement, error) {
	n := s.node
	if n.Relation != nil {
		text, err := s.selectText(c)
		if err != nil {
			return parse.Statement{}, err
		}
		stmts, err := parse.Parse(text)
		if err != nil {
			return parse.Statement{}, err
		}
		return stmts[0], nil
	}
	switch {
	case parse.IsQuery(n.Query):
	case n.Query.GetSelectStmt() != nil:
		return parse.Statement{}, pgerr.New(pgerr.FeatureNotSupported, "COPY (SELECT INTO) is not supported")
	default:
		return parse.Statement{}, pgerr.Unsupported("COPY of %s is not supported yet", parse.Name(n.Query))
	}
	return parse.Statement{Node: n.Query, Source: s.st.Source, Start: s.st.Start, End: s.st.End}, nil
}

func (s *Statement) selectText(c *stmt.Compiler) (string, error) {
	t, err := s.table(c, "from")
	if err != nil {
		return "", err
	}
	cols, err := s.columns(t)
	if err != nil {
		return "", err
	}
	var names []string
	for _, c := range cols {
		names = append(names, builtin.QuoteIdent(c.Name))
	}
	return fmt.Sprintf("SELECT %s FROM %s", strings.Join(names, ", "), stmt.TableName(c.View, t)), nil
}
