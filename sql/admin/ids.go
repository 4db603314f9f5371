package admin

import (
	"fmt"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
)

// forwardedOID is the OID of the function that programs call for ids that may be former ones.
const forwardedOID = 8070

const idJobs = "replace_placement, rewrite_references or start_validation"

// formerIDs has the functions about former ids of documents, and the jobs about ids.
var formerIDs = []Function{
	{
		OID: forwardedOID, Signature: "forwarded(oid, text, text) RETURNS text", Stable: true, Call: forwarded,
		Comment: "returns the present id of a document that a statement has named by a former id, and counts the use",
	},
	{
		OID: 8071, Signature: "replace_placement(collection regclass, spread bool DEFAULT false) RETURNS int8",
		Call: replacePlacement,
		Comment: "changes, in the background, the ids of a collection's documents that lie where its policy does not " +
			"allow; they are still found by their former ids. With spread, it also changes the ids of documents " +
			"that the policy would now put into another bucket of its Range. Returns the number of the job",
	},
	{
		OID: 8072, Signature: "rewrite_references(regclass) " +
			"RETURNS TABLE (referrer regclass, path text, constraint text, by_former_id int8)",
		Source: "sherd_references", Rows: references,
		Comment: "lists the foreign keys that refer to a collection, and the number of rows that use former ids",
	},
	{
		OID: 8073, Signature: "rewrite_references(regclass, regclass, text) RETURNS int8", Call: rewriteReferences,
		Comment: "replaces, in the background, former ids of a collection's documents by present ones, in a column " +
			"of another table or at a path of its documents. Returns the number of the job",
	},
	{
		OID: 8074, Signature: "drop_forwarding(regclass) RETURNS void", Call: void(dropForwarding),
		Comment: "removes the former ids of a collection's documents",
	},
	{
		OID: 8075, Signature: "pause_job(int8) RETURNS void", Call: controlJob("pause_job", catalog.JobPaused),
		Comment: "pauses a job of " + idJobs,
	},
	{
		OID: 8076, Signature: "resume_job(int8) RETURNS void", Call: controlJob("resume_job", catalog.JobRunning),
		Comment: "resumes a job of " + idJobs + " that was paused or has failed",
	},
	{
		OID: 8077, Signature: "cancel_job(int8) RETURNS void", Call: controlJob("cancel_job", catalog.JobCancelled),
		Comment: "cancels a job of " + idJobs + "; its changes so far stay",
	},
	{
		OID: 8078, Signature: "start_validation(regclass) RETURNS int8", Call: startValidation,
		Comment: "checks in the background that all documents of a collection lie where its policy allows, and then " +
			"marks the policy as validated. Returns the number of the job",
	},
}

// forwarded counts that a statement has named a document by a former id, and returns the present id.
// Every role may call it: calls that are not about a collection with former ids are not counted.
func forwarded(e *Environment, a []types.Datum) (types.Datum, error) {
	table := a[0].Oid()
	if t := e.Catalog.View().Table(table); t != nil && t.Forwarding != 0 && t.Database == e.Names.Database.OID {
		e.Forwarded(sysview.Forwarded{
			Database: t.Database, Table: table, Old: strings.Clone(a[1].S), New: strings.Clone(a[2].S),
			Application: e.Application, Query: e.Query, Last: time.Now(),
		})
	}
	return a[2], nil
}

// owned returns a table of the session's database that the session's role may change. function, with
// its schema, is for messages. Jobs begin at once, even if the surrounding transaction rolls back.
func (e *Environment) owned(function string, oid catalog.OID) (*catalog.Table, error) {
	v := e.Catalog.View()
	t, err := ddl.TableOf(v, e.Names.Database.OID, oid)
	switch {
	case e.Context == nil:
		return nil, pgerr.Unsupported("%s cannot run here", function)
	case err != nil:
		return nil, err
	case !privilege.Owns(v, e.Names.Database.OID, e.Role, t.Owner):
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
	case e.Tx != nil && e.Tx.Modes.ReadOnly:
		return nil, pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", function)
	}
	return t, nil
}

func replacePlacement(e *Environment, a []types.Datum) (types.Datum, error) {
	t, err := e.owned("sherd.replace_placement()", a[0].Oid())
	if err != nil {
		return types.Null, err
	}
	if err := ddl.CanForward(t); err != nil {
		return types.Null, err
	}
	if t.Policy == nil || t.Policy.IsID() {
		return types.Null, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`"%s" has no sharding policy by which documents could be placed`, t.Name).
			WithHint("Set one with ALTER TABLE %s SET (shard_by = '…').", builtin.QuoteIdent(t.Name))
	}
	return e.startJob(t, catalog.ReplacementJob, catalog.Replacement{Who: e.roleName(), Spread: a[1].Bool()})
}

// startJob begins a job about the ids of a collection, and returns its number. A collection has at
// most one at a time.
func (e *Environment) startJob(t *catalog.Table, kind string, payload any) (types.Datum, error) {
	id, err := e.Catalog.NewJobID(e.Context)
	if err != nil {
		return types.Null, err
	}
	err = e.update(func(v *catalog.View, ch *catalog.Change) error {
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
	return types.NewInt(int64(id)), err
}

func startValidation(e *Environment, a []types.Datum) (types.Datum, error) {
	t, err := e.owned("sherd.start_validation()", a[0].Oid())
	if err != nil {
		return types.Null, err
	}
	if err := ddl.CanValidate(t); err != nil {
		return types.Null, err
	}
	if err := schemachange.CanValidate(t); err != nil {
		return types.Null, err
	}
	return e.startJob(t, catalog.ValidationJob, catalog.Validation{Who: e.roleName()})
}

// rewriteReferences starts the job for the references of one table, at a path.
func rewriteReferences(e *Environment, a []types.Datum) (types.Datum, error) {
	const function = "sherd.rewrite_references()"
	t, err := e.owned(function, a[0].Oid())
	if err != nil {
		return types.Null, err
	}
	from, err := e.owned(function, a[1].Oid())
	v := e.Catalog.View()
	switch {
	case err != nil:
		return types.Null, err
	case t.Forwarding == 0:
		return types.Null, noFormerIDs(t)
	case from.PrimaryKey() == nil:
		return types.Null, pgerr.Unsupported(
			`references of "%s", which has no primary key, cannot be rewritten by a job`, from.Name).
			WithHint("UPDATE it with a join of %s.", forward.EntriesOf(v, t))
	}
	path := a[2].S
	if err := schemachange.CheckReference(v, from, path); err != nil {
		return types.Null, err
	}
	return e.startJob(t, catalog.RewritingJob,
		catalog.Rewriting{Referrer: from.OID, Path: path, Who: e.roleName()})
}

func noFormerIDs(t *catalog.Table) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `documents of "%s" have no former ids`, t.Name).
		WithHint("sherd.replace_placement gives them new ones.")
}

// references lists the foreign keys that refer to a collection.
func references(e *Environment, a []types.Datum, emit func([]types.Datum) error) error {
	t, err := e.owned("sherd.rewrite_references()", a[0].Oid())
	if err != nil {
		return err
	}
	if t.Forwarding == 0 {
		return noFormerIDs(t)
	}
	v := e.View()
	key := forward.Key(t)
	for _, k := range refint.To(v, t) {
		if len(k.Referenced) != 1 || key < 0 || k.Referenced[0].AttNum != t.Columns[key].AttNum {
			continue
		}
		n, err := byFormerID(e, v, t, k)
		if err != nil {
			return err
		}
		if err := emit([]types.Datum{
			types.NewOid(k.Child.OID), types.NewText(k.Columns[0].Name), types.NewText(k.Con.Name), types.NewInt(n),
		}); err != nil {
			return err
		}
	}
	return nil
}

// byFormerID counts the rows that refer to documents of t by former ids.
func byFormerID(e *Environment, v *catalog.View, t *catalog.Table, k *refint.Key) (n int64, err error) {
	text := fmt.Sprintf("SELECT count(*) FROM %s.%s x JOIN %s f ON f.old = x.%s",
		builtin.QuoteIdent(k.ChildSchema), builtin.QuoteIdent(k.Child.Name), forward.EntriesOf(v, t),
		builtin.QuoteIdent(k.Columns[0].Name))
	err = e.Definer().Query(e.Context, v, text, func(row []types.Datum) error {
		n = row[0].N
		return nil
	})
	return n, err
}

// dropForwarding removes former ids. The change commits with the transaction.
func dropForwarding(e *Environment, a []types.Datum) error {
	if err := e.mayDefine("sherd.drop_forwarding()", a[0].Oid()); err != nil {
		return err
	}
	return ddl.DropForwarding(e.Context, e.Definer(), a[0].Oid())
}

// controlJob makes the function that sets the state of a job.
func controlJob(function string, state catalog.JobState) Call {
	return void(func(e *Environment, a []types.Datum) error {
		if e.Context != nil {
			e.CatchUp(e.Context) // another node may just have begun the job
		}
		id := uint64(a[0].N)
		j := e.Catalog.View().Job(id)
		if j == nil || !j.AboutIDs() || j.Database != e.Names.Database.OID {
			return pgerr.New(pgerr.UndefinedObject,
				"there is no job %d of sherd.replace_placement, sherd.rewrite_references or sherd.start_validation in "+
					"this database", a[0].N).
				WithHint("sherd.jobs lists them.")
		}
		if e.Catalog.View().Table(j.Table) != nil {
			if _, err := e.owned("sherd."+function+"()", j.Table); err != nil {
				return err
			}
		}
		return e.update(func(_ *catalog.View, ch *catalog.Change) error {
			return ch.SetIDJob(id, state, time.Now().UnixMicro())
		})
	})
}
