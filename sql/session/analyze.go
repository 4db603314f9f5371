package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/sampling"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tablestats"
	"github.com/sherddb/sherd/txn/locks"
)

// vacuum is a run of ANALYZE or VACUUM.
type vacuum struct {
	*Session
	w stmt.ResultWriter
	o vacuumOptions
}

// known runs the statement, again if it meets a name that only the cluster knows yet.
func (v vacuum) known(ctx context.Context, n *pg_query.VacuumStmt, implicitBlock bool) error {
	return v.node.knownNames(ctx, func() error { return v.run(ctx, n, implicitBlock) })
}

// run analyzes, if it is asked to; otherwise there is nothing to do, because storage maintains itself.
func (v vacuum) run(ctx context.Context, n *pg_query.VacuumStmt, implicitBlock bool) (err error) {
	if v.o, err = vacuumOptionsOf(n); err != nil {
		return err
	}
	if n.IsVacuumcmd {
		if err := v.block.PreventInBlock("VACUUM", implicitBlock, v.leads); err != nil {
			return err
		}
	}
	for _, r := range n.Rels {
		if x := r.GetVacuumRelation(); len(x.GetVaCols()) > 0 && !v.o.analyze {
			return pgerr.Unsupported("ANALYZE option must be specified when a column list is provided")
		}
	}
	own := v.isAutocommit(implicitBlock)
	v.block.Join(implicitBlock)
	if err := v.block.Tx.TakeSnapshot(ctx); err != nil {
		return err
	}
	v.running = ctx
	targets, err := v.targets(n)
	if err != nil {
		return err
	}
	for i, x := range targets {
		if own && i > 0 {
			if err := v.commitTable(ctx); err != nil {
				return err
			}
		}
		if err := v.analyzeTable(ctx, x); err != nil {
			return err
		}
	}
	return v.w.Complete(v.o.command)
}

// commitTable commits what was done of one table, and begins the transaction of the next one.
func (v vacuum) commitTable(ctx context.Context) error {
	pipeline := v.block.Tx.Pipeline
	if err := v.block.Commit(unbounded(ctx)); err != nil {
		return err
	}
	v.block.Begin().Pipeline = pipeline
	return v.block.Tx.TakeSnapshot(ctx)
}

// vacuumOptions are the options of VACUUM and ANALYZE that have an effect.
type vacuumOptions struct {
	command                      string // VACUUM or ANALYZE
	analyze, verbose, skipLocked bool
}

// knownVacuumOptions are those of PostgreSQL, by whether ANALYZE takes them too.
var knownVacuumOptions = map[string]bool{
	"verbose": true, "skip_locked": true, "analyze": false, "freeze": false, "full": false, "index_cleanup": false,
	"disable_page_skipping": false, "process_toast": false, "truncate": false, "parallel": false,
}

func vacuumOptionsOf(n *pg_query.VacuumStmt) (vacuumOptions, error) {
	o := vacuumOptions{command: "ANALYZE", analyze: true}
	if n.IsVacuumcmd {
		o = vacuumOptions{command: "VACUUM"}
	}
	for _, x := range n.Options {
		d := x.GetDefElem()
		alsoAnalyze, known := knownVacuumOptions[d.GetDefname()]
		if !known || !n.IsVacuumcmd && !alsoAnalyze {
			return o, pgerr.New(pgerr.SyntaxError, `unrecognized %s option "%s"`, o.command, d.GetDefname()).
				At(int(d.GetLocation()) + 1)
		}
		on, err := optionIsOn(d)
		if err != nil {
			return o, err
		}
		switch d.GetDefname() {
		case "analyze":
			o.analyze = on
		case "verbose":
			o.verbose = on
		case "skip_locked":
			o.skipLocked = on
		}
	}
	return o, nil
}

// optionIsOn reads the value of an option of VACUUM. That of INDEX_CLEANUP and PARALLEL has no effect.
func optionIsOn(d *pg_query.DefElem) (bool, error) {
	switch v := d.GetArg(); {
	case v == nil || d.GetDefname() == "index_cleanup" || d.GetDefname() == "parallel":
		return true, nil
	case v.GetInteger() != nil && v.GetInteger().Ival == 0, v.GetString_().GetSval() == "false",
		v.GetString_().GetSval() == "off", v.GetBoolean() != nil && !v.GetBoolean().Boolval:
		return false, nil
	case v.GetInteger() != nil && v.GetInteger().Ival == 1, v.GetString_().GetSval() == "true",
		v.GetString_().GetSval() == "on", v.GetBoolean() != nil:
		return true, nil
	}
	return false, pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", d.GetDefname())
}

// vacuumTarget is a table to analyze, and the columns that are named; nil: all.
type vacuumTarget struct {
	table   catalog.OID
	columns []string
}

// targets returns the named tables, or all that the role may analyze.
func (v vacuum) targets(n *pg_query.VacuumStmt) (out []vacuumTarget, err error) {
	c := v.currentCompiler()
	if len(n.Rels) == 0 {
		for t := range c.View.Tables(v.database) {
			if t.Kind != catalog.KindTable && !t.IsMaterialized() || t.ForwardingOf != 0 {
				continue
			}
			if ok, err := v.allowed(c, t); err != nil {
				return nil, err
			} else if ok {
				out = append(out, vacuumTarget{table: t.OID})
			}
		}
		return out, nil
	}
	for _, r := range n.Rels {
		x := r.GetVacuumRelation()
		t, err := analyze.Table(c.Analysis(v.query), x.Relation)
		switch {
		case pgerr.Is(err, pgerr.WrongObjectType):
			err = v.notTable(x.Relation)
		case err != nil:
			e := *pgerr.From(err)
			e.Position = 0
			err = &e
		default:
			var ok bool
			if ok, err = v.allowed(c, t); ok {
				y := vacuumTarget{table: t.OID}
				for _, col := range x.VaCols {
					y.columns = append(y.columns, col.GetString_().GetSval())
				}
				out = append(out, y)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// notTable warns that a relation without rows of its own is skipped. System relations have no
// statistics, and need none.
func (v vacuum) notTable(rv *pg_query.RangeVar) error {
	if v.isSystem(rv) {
		return nil
	}
	return v.w.Notice(warning(
		`skipping "%s" --- cannot %s non-tables or special system tables`, rv.Relname, v.verb()))
}

func (v vacuum) verb() string { return strings.ToLower(v.o.command) }

// isSystem reports whether a name is that of a system relation.
func (v vacuum) isSystem(rv *pg_query.RangeVar) bool {
	parts := []string{rv.Relname}
	if rv.Schemaname != "" {
		parts = []string{rv.Schemaname, rv.Relname}
	}
	oid := v.names().FindRelation(parts)
	return oid != 0 && oid < catalog.FirstOID
}

// allowed reports whether the role owns a table or the database, and warns if it does not.
func (v vacuum) allowed(c *stmt.Compiler, t *catalog.Table) (bool, error) {
	d := c.View.Database(v.database)
	if me := privilege.Of(c.View, d.OID, v.role); me.Acts(t.Owner) || me.Acts(d.Owner) {
		return true, nil
	}
	return false, v.w.Notice(warning(
		`skipping "%s" --- only table or database owner can %s it`, t.Name, v.verb()))
}

func warning(format string, args ...any) *pgerr.Error {
	e := pgerr.New(pgerr.Warning, format, args...)
	e.Severity = "WARNING"
	return e
}

// analyzeTable analyzes a table in the transaction.
func (v vacuum) analyzeTable(ctx context.Context, x vacuumTarget) error {
	t := v.block.View().Table(x.table)
	if t == nil {
		return nil // it was dropped meanwhile
	}
	if _, err := sampling.Columns(t, x.columns); err != nil || !v.o.analyze {
		return err
	}
	a := sampling.Analysis{
		Tx: v.block.Tx.Tx, Target: v.vars.Number("default_statistics_target"),
		NoWait: v.o.skipLocked,
		Totals: func(ctx context.Context, d *catalog.Database, storageID uint32) ([]tablestats.Total, error) {
			return totals(ctx, v.Session, d, storageID)
		},
		Executor: func(ctx context.Context) stmt.Executor {
			v.currentCompiler()
			return v.executor(ctx)
		},
	}
	found, err := a.Table(ctx, x.table, x.columns)
	if errors.Is(err, locks.ErrNotAvailable) {
		return v.w.Notice(warning(`skipping analyze of "%s" --- lock not available`, t.Name))
	}
	if err != nil || found == nil {
		return err
	}
	if err := v.missed(t, a.Missed); err != nil || !v.o.verbose {
		return err
	}
	text := fmt.Sprintf(`"%s": %.0f rows of about %d bytes, statistics of %d columns`, t.Name, found.Rows,
		int64(found.Bytes), len(found.Columns))
	e := pgerr.New(pgerr.SuccessfulCompletion, "%s", text)
	e.Severity = "INFO"
	return v.w.Notice(e)
}

// missed warns about the statistics objects of a table that were not computed.
func (v vacuum) missed(t *catalog.Table, list []*catalog.ExtendedStatistics) error {
	view := v.block.View()
	for _, x := range list {
		e := warning(`statistics object "%s.%s" could not be computed for relation "%s.%s"`,
			view.Schema(x.Schema).Name, x.Name, view.Schema(t.Schema).Name, t.Name)
		e.Code = pgerr.InvalidObjectDefinition
		if err := v.w.Notice(e); err != nil {
			return err
		}
	}
	return nil
}
