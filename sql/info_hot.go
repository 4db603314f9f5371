package sql

import (
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/counters"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/txn"
)

// HotSplit implements builtin.HotInfo.
func (i info) HotSplit(table uint32, id string, parts int, names []string) (int, error) {
	t, err := i.hotTable("hot_split", table, id)
	if err != nil {
		return 0, err
	}
	if parts < 2 || parts > counters.MaxParts {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "a document can be split into 2 to %d parts, not %d",
			counters.MaxParts, parts)
	}
	return parts, i.redefineHot(t, id, func(d *counters.Document) error {
		if err := d.Declare(names); err != nil {
			return err
		}
		return d.Split(parts, i.roleName(), i.db.cfg.Catalog.NewOID)
	})
}

// HotJoin implements builtin.HotInfo.
func (i info) HotJoin(table uint32, id string) error {
	t, err := i.hotTable("hot_join", table, id)
	if err != nil {
		return err
	}
	return i.redefineHot(t, id, (*counters.Document).Join)
}

// hotTable returns the table of a document: the table with oid or, if oid is 0, the collection of
// the id. The role must own it.
func (i info) hotTable(function string, oid uint32, id string) (*catalog.Table, error) {
	view := i.block.View()
	var t *catalog.Table
	if name, _, ok := strings.Cut(id, "/"); oid == 0 && ok {
		for _, schema := range i.currentCompiler().SearchPath() {
			if t == nil {
				t = view.FindTable(i.database, schema, name)
			}
		}
	}
	switch {
	case oid != 0:
		var err error
		if t, err = ddl.TableOf(view, i.database, oid); err != nil {
			return nil, err
		}
	case t == nil || t.Kind != catalog.KindTable:
		return nil, pgerr.New(pgerr.UndefinedTable, `no table is named like the collection of "%s"`, id).
			WithHint("Name the table too, as in SELECT sherd.hot_split('counters', 'x', 16) and " +
				"SELECT sherd.hot_join('counters', 'x').")
	}
	name := "sherd." + function + "()"
	if i.block.Tx != nil && (i.block.Tx.Explicit || i.block.Tx.Together) {
		return nil, pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", name).
			WithHint("It commits by itself: COMMIT or ROLLBACK first.")
	}
	if err := i.mayDefine(name, t.OID); err != nil {
		return nil, err
	}
	if !view.Role(i.role).Owns(view.Database(i.database), t.Owner) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
	}
	return t, nil
}

// redefineHot changes which documents of a table are split, by calling change with the document of
// an id. It has exclusive use of the table; statements of other sessions are planned again
// afterwards.
func (i info) redefineHot(t *catalog.Table, id string, change func(*counters.Document) error) (err error) {
	if err := i.notInUse("change which documents are split of", []catalog.OID{t.OID}); err != nil {
		return err
	}
	if err := i.block.Tx.DDL.Lock(i.ctx, []catalog.OID{t.OID}); err != nil {
		return err
	}
	own, draft := i.block.Tx, i.block.Tx.Schema
	defer func() {
		if err != nil {
			own.Schema = draft // the statement may be run again
		}
	}()
	if err := own.Parts.Bound(txn.ScopeCluster); err != nil {
		return err
	}
	now := i.block.View().Table(t.OID)
	if now == nil {
		return pgerr.New(pgerr.UndefinedTable, `relation "%s" does not exist`, t.Name)
	}
	x := i.executor(i.ctx)
	d, err := counters.NewDocument(i.ctx, &x, own.Tx, now, id)
	if err != nil {
		return err
	}
	return change(d)
}
