package admin

import (
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// Function is a function of schema sherd. It is strict, and runs at the gateway.
type Function struct {
	// OID is a number from 8000 to 8999 that no other function has ever had, because plans of queries
	// name functions by OID.
	OID uint32
	// Signature is the function as CREATE FUNCTION has it: join_token(interval, node text DEFAULT ''::text)
	// RETURNS text, or RETURNS TABLE (id text, bucket int4). A null for a last argument named rewrite, wait
	// or why means its default.
	Signature string
	Comment   string
	Source    string // pg_proc.prosrc if it is not sherd_ and the name
	Stable    bool   // its result does not change during a statement; otherwise it is volatile

	Call Call // nil for a function that returns a table
	Rows Rows
}

// Call runs a function that returns one value.
type Call func(e *Environment, args []types.Datum) (types.Datum, error)

// Rows runs a function that returns a table. A row is valid only during emit.
type Rows func(e *Environment, args []types.Datum, emit func(row []types.Datum) error) error

// functions has every function. It is built once and then read-only.
var functions = slices.Concat(planning, topology, moving, fragments, zones, prefixes, segments, placement,
	policies, checks, nodes, transactions, formerIDs, hotDocuments)

var byOID = index(functions)

func index(list []Function) map[uint32]*Function {
	m := make(map[uint32]*Function, len(list))
	for i := range list {
		m[list[i].OID] = &list[i]
	}
	return m
}

// Run runs the function of a pg_proc row that returns one value.
func Run(e *Environment, p *pgcatalog.Proc, args []types.Datum) (types.Datum, error) {
	f := byOID[p.OID]
	if f == nil || f.Call == nil {
		return types.Null, notImplemented(p)
	}
	return f.Call(e, args)
}

// RunTable runs the function of a pg_proc row that returns a table.
func RunTable(e *Environment, p *pgcatalog.Proc, args []types.Datum, emit func(row []types.Datum) error) error {
	f := byOID[p.OID]
	if f == nil || f.Rows == nil {
		return notImplemented(p)
	}
	return f.Rows(e, args, emit)
}

func notImplemented(p *pgcatalog.Proc) error {
	return pgerr.Unsupported("function sherd.%s() is not supported yet", p.Name)
}

// void makes the Call of a function that returns nothing.
func void(do func(e *Environment, args []types.Datum) error) Call {
	return func(e *Environment, args []types.Datum) (types.Datum, error) {
		return types.Datum{K: types.KindVoid}, do(e, args)
	}
}
