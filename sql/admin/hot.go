package admin

import (
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/counters"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

const (
	splitArguments = "id text, parts int4 DEFAULT 16, counters text[] DEFAULT '{}'::text[]) RETURNS int4"
	splitComment   = "splits the counters of a document into parts in several buckets, so that concurrent additions " +
		"do not wait for each other; returns the number of parts"
	joinComment = "merges the parts of a document that sherd.hot_split has split"
)

// hotDocuments has the functions about documents that are used too much.
var hotDocuments = []Function{
	{OID: 8096, Signature: "hot_split(" + splitArguments, Call: hotSplit, Comment: splitComment},
	{
		OID: 8097, Signature: "hot_split(collection regclass, " + splitArguments, Source: "sherd_hot_split_of",
		Call: hotSplitOf, Comment: splitComment,
	},
	// A call with two literals of unknown type, as hot_split('counters', 'x'), resolves to this
	// function, because strings are preferred.
	{
		OID: 8088, Signature: "hot_split(collection text, " + splitArguments, Source: "sherd_hot_split_named",
		Call: hotSplitNamed, Comment: splitComment,
	},
	{OID: 8098, Signature: "hot_join(id text) RETURNS void", Call: void(hotJoin), Comment: joinComment},
	{
		OID: 8099, Signature: "hot_join(collection regclass, id text) RETURNS void", Source: "sherd_hot_join_of",
		Call: void(hotJoinOf), Comment: joinComment,
	},
}

func hotSplit(e *Environment, a []types.Datum) (types.Datum, error) { return splitDocument(e, 0, a) }

func hotSplitOf(e *Environment, a []types.Datum) (types.Datum, error) {
	return splitDocument(e, a[0].Oid(), a[1:])
}

func hotSplitNamed(e *Environment, a []types.Datum) (types.Datum, error) {
	table, ok, err := e.Names.Find(builtin.ObjRelation, a[0].S)
	if err == nil && !ok {
		err = pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", a[0].S)
	}
	if err != nil {
		return types.Null, err
	}
	return splitDocument(e, table, a[1:])
}

func hotJoin(e *Environment, a []types.Datum) error { return joinDocument(e, 0, a[0].S) }

func hotJoinOf(e *Environment, a []types.Datum) error { return joinDocument(e, a[0].Oid(), a[1].S) }

// splitDocument splits counters of a document, by default those of the table's option. If table is 0,
// the id names its collection.
func splitDocument(e *Environment, table catalog.OID, a []types.Datum) (types.Datum, error) {
	id, parts := a[0].S, int(a[1].N)
	names, err := textsOf(a[2], "counters")
	if err != nil {
		return types.Null, err
	}
	t, err := hotTable(e, "hot_split", table, id)
	if err != nil {
		return types.Null, err
	}
	if parts < 2 || parts > counters.MaxParts {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "a document can be split into 2 to %d parts, not %d",
			counters.MaxParts, parts)
	}
	return types.NewInt(int64(parts)), redefineHot(e, t, id, func(d *counters.Document) error {
		if err := d.Declare(names); err != nil {
			return err
		}
		return d.Split(parts, e.roleName(), e.Catalog.NewOID)
	})
}

func joinDocument(e *Environment, table catalog.OID, id string) error {
	t, err := hotTable(e, "hot_join", table, id)
	if err != nil {
		return err
	}
	return redefineHot(e, t, id, (*counters.Document).Join)
}

// hotTable returns the table of a document: the table with oid or, if oid is 0, the collection of
// the id. The role must own it.
func hotTable(e *Environment, function string, oid catalog.OID, id string) (*catalog.Table, error) {
	view, database := e.View(), e.Names.Database.OID
	var t *catalog.Table
	if name, _, ok := strings.Cut(id, "/"); oid == 0 && ok {
		for _, schema := range e.Names.Schemas() {
			if t == nil {
				t = view.FindTable(database, schema, name)
			}
		}
	}
	switch {
	case oid != 0:
		var err error
		if t, err = ddl.TableOf(view, database, oid); err != nil {
			return nil, err
		}
	case t == nil || t.Kind != catalog.KindTable:
		return nil, pgerr.New(pgerr.UndefinedTable, `no table is named like the collection of "%s"`, id).
			WithHint("Name the table too, as in SELECT sherd.hot_split('counters', 'x', 16) and " +
				"SELECT sherd.hot_join('counters', 'x').")
	}
	name := "sherd." + function + "()"
	if e.Tx != nil && (e.Tx.Explicit || e.Tx.ImplicitBlock) {
		return nil, pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", name).
			WithHint("It commits by itself: COMMIT or ROLLBACK first.")
	}
	if err := e.mayDefine(name, t.OID); err != nil {
		return nil, err
	}
	if !privilege.Owns(view, database, e.Role, t.Owner) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
	}
	return t, nil
}

// redefineHot changes which documents of a table are split, by calling change with the document of
// an id. It has exclusive use of the table; statements of other sessions are planned again
// afterwards.
func redefineHot(e *Environment, t *catalog.Table, id string, change func(*counters.Document) error) (err error) {
	if err := e.Unused("change which documents are split of", []catalog.OID{t.OID}); err != nil {
		return err
	}
	if err := e.Definer().Lock(e.Context, []catalog.OID{t.OID}); err != nil {
		return err
	}
	// A node that was cut off may not know yet which numbers of documents are taken.
	e.CatchUp(e.Context)
	before := e.Tx.Schema
	defer func() {
		if err != nil {
			e.Tx.Schema = before // the statement may be run again
		}
	}()
	if err := e.Tx.Parts.Bound(txn.ScopeCluster); err != nil {
		return err
	}
	now := e.View().Table(t.OID)
	if now == nil {
		return pgerr.New(pgerr.UndefinedTable, `relation "%s" does not exist`, t.Name)
	}
	d, err := counters.NewDocument(e.Context, e.Executor(), e.Tx, now, id)
	if err != nil {
		return err
	}
	return change(d)
}
