package sql

import (
	"fmt"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
)

func cloned(s string) string { return strings.Clone(s) }

// owned returns a table of the session's database that the session's role may change; function is
// for messages. Jobs begin at once, even if the surrounding transaction rolls back.
func (i info) owned(function string, oid catalog.OID) (*catalog.Table, error) {
	v := i.db.cfg.Catalog.View()
	t, err := ddl.TableOf(v, i.database, oid)
	switch {
	case i.ctx == nil:
		return nil, pgerr.Unsupported("%s cannot run here", function)
	case err != nil:
		return nil, err
	case !v.Role(i.role).Owns(v.Database(i.database), t.Owner):
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
	case i.block.Tx != nil && i.block.Tx.Modes.ReadOnly:
		return nil, pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", function)
	}
	return t, nil
}

// ReplacePlacement implements builtin.IDInfo.
func (i info) ReplacePlacement(oid uint32, spread bool) (int64, error) {
	t, err := i.owned("sherd.replace_placement()", oid)
	if err != nil {
		return 0, err
	}
	if err := ddl.CanForward(t); err != nil {
		return 0, err
	}
	if t.Policy == nil || t.Policy.IsID() {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`"%s" has no sharding policy by which documents could be placed`, t.Name).
			WithHint("Set one with ALTER TABLE %s SET (shard_by = '…').", builtin.QuoteIdent(t.Name))
	}
	return i.startJob(t, catalog.ReplacementJob, catalog.Replacement{Who: i.roleName(), Spread: spread})
}

// startJob begins a job about the ids of a collection. A collection has at most one at a time.
func (i info) startJob(t *catalog.Table, kind string, payload any) (int64, error) {
	id, err := i.db.cfg.Catalog.NewJobID(i.ctx)
	if err != nil {
		return 0, err
	}
	_, err = i.db.cfg.Catalog.Update(i.ctx, func(v *catalog.View, ch *catalog.Change) error {
		for j := range v.Jobs() {
			if j.Table == t.OID && j.AboutIDs() && (j.State == catalog.JobRunning || j.State == catalog.JobPaused) {
				return pgerr.New(pgerr.ObjectInUse, `job %d, %s, is still about "%s"`, j.ID, j.Kind, t.Name).
					WithHint("Wait for it, or end it with SELECT sherd.cancel_job(%d).", j.ID)
			}
		}
		j, err := catalog.NewIDJob(id, kind, t, payload, time.Now().UnixMicro())
		if err != nil {
			return err
		}
		return ch.PutJob(j)
	})
	return int64(id), err
}

// StartValidation implements builtin.IDInfo.
func (i info) StartValidation(oid uint32) (int64, error) {
	t, err := i.owned("sherd.start_validation()", oid)
	if err != nil {
		return 0, err
	}
	if err := ddl.CanValidate(t); err != nil {
		return 0, err
	}
	if err := schemachange.CanValidate(t); err != nil {
		return 0, err
	}
	return i.startJob(t, catalog.ValidationJob, catalog.Validation{Who: i.roleName()})
}

// RewriteReferences implements builtin.IDInfo.
func (i info) RewriteReferences(oid, referrer uint32, path string) (int64, error) {
	const function = "sherd.rewrite_references()"
	t, err := i.owned(function, oid)
	if err != nil {
		return 0, err
	}
	from, err := i.owned(function, referrer)
	switch {
	case err != nil:
		return 0, err
	case t.Forwarding == 0:
		return 0, noFormerIDs(t)
	case from.PrimaryKey() == nil:
		return 0, pgerr.Unsupported(`references of "%s", which has no primary key, cannot be rewritten by a job`,
			from.Name).
			WithHint("UPDATE it with a join of %s.", forward.EntriesOf(i.db.cfg.Catalog.View(), t))
	}
	if err := schemachange.CheckReference(i.db.cfg.Catalog.View(), from, path); err != nil {
		return 0, err
	}
	return i.startJob(t, catalog.RewritingJob, catalog.Rewriting{Referrer: referrer, Path: path, Who: i.roleName()})
}

func noFormerIDs(t *catalog.Table) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `documents of "%s" have no former ids`, t.Name).
		WithHint("sherd.replace_placement gives them new ones.")
}

// References implements builtin.IDInfo.
func (i info) References(
	oid uint32, emit func(referrer uint32, path, constraint string, byFormerID int64) error,
) error {
	t, err := i.owned("sherd.rewrite_references()", oid)
	if err != nil {
		return err
	}
	if t.Forwarding == 0 {
		return noFormerIDs(t)
	}
	v := i.block.View()
	key := forward.Key(t)
	for _, k := range refint.To(v, t) {
		if len(k.Referenced) != 1 || key < 0 || k.Referenced[0].AttNum != t.Columns[key].AttNum {
			continue
		}
		column := k.Columns[0].Name
		text := fmt.Sprintf("SELECT count(*) FROM %s.%s x JOIN %s f ON f.old = x.%s",
			builtin.QuoteIdent(k.ChildSchema), builtin.QuoteIdent(k.Child.Name), forward.EntriesOf(v, t),
			builtin.QuoteIdent(column))
		n := int64(0)
		err := i.queryAgainst(i.ctx, v, text, func(row []types.Datum) error {
			n = row[0].N
			return nil
		})
		if err == nil {
			err = emit(k.Child.OID, column, k.Con.Name, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DropForwarding implements builtin.IDInfo. The change commits with the transaction.
func (i info) DropForwarding(table uint32) error {
	if err := i.mayDefine("sherd.drop_forwarding()", table); err != nil {
		return err
	}
	return ddl.DropForwarding(i.ctx, i.definer(i.keepNotice), table)
}

// ControlJob implements builtin.IDInfo.
func (i info) ControlJob(id int64, verb string) error {
	if i.ctx != nil {
		i.db.catchUp(i.ctx) // another node may just have begun the job
	}
	j := i.db.cfg.Catalog.View().Job(uint64(id))
	if j == nil || !j.AboutIDs() || j.Database != i.database {
		return pgerr.New(pgerr.UndefinedObject,
			"there is no job %d of sherd.replace_placement, sherd.rewrite_references or sherd.start_validation in "+
				"this database", id).
			WithHint("sherd.jobs lists them.")
	}
	if i.db.cfg.Catalog.View().Table(j.Table) != nil {
		if _, err := i.owned("sherd."+verb+"_job()", j.Table); err != nil {
			return err
		}
	}
	state := map[string]catalog.JobState{
		"pause": catalog.JobPaused, "resume": catalog.JobRunning, "cancel": catalog.JobCancelled,
	}[verb]
	_, err := i.db.cfg.Catalog.Update(i.ctx, func(_ *catalog.View, ch *catalog.Change) error {
		return ch.SetIDJob(uint64(id), state, time.Now().UnixMicro())
	})
	return err
}

// Forwarded implements builtin.IDInfo. Every role may call sherd.forwarded: calls that are not
// about a collection with former ids are not counted.
func (i info) Forwarded(table uint32, old, now string) {
	if t := i.db.cfg.Catalog.View().Table(table); t == nil || t.Forwarding == 0 || t.Database != i.database {
		return
	}
	application, _ := i.vars.Get("application_name")
	i.db.monitor.Forwardings.Add(sysview.Forwarded{
		Database: i.database, Table: table, Old: cloned(old), New: cloned(now),
		Application: application, Query: i.query, Last: time.Now(),
	})
}

func (i info) keepNotice(n *pgerr.Error) error {
	i.notice(n)
	return nil
}

// mayDefine returns an error if a function that changes a table's definition cannot run here.
func (i info) mayDefine(name string, table catalog.OID) error {
	switch {
	case i.ctx == nil:
		return pgerr.Unsupported("%s cannot run here", name)
	case i.block.Tx == nil:
		return nil
	case i.block.Tx.Modes.ReadOnly:
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", name)
	case i.block.Tx.UsesAlready(table):
		return pgerr.New(pgerr.ObjectInUse,
			"cannot execute %s because the table is being used by active queries in this session", name)
	}
	i.block.Tx.DefineTables(table)
	return nil
}
