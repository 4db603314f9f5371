package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/verify"
)

// proof is what sherd.check() does about one kind of data: it looks at what is committed, in a transaction of its own.
type proof struct {
	ctx  context.Context
	t    *tx.Tx
	x    stmt.Executor
	emit func(check, subject string, ok bool, detail string) error
}

// prove begins a proof; the caller calls end. The session's own transaction stays as it is.
func (s *Session) prove(ctx context.Context, emit func(check, subject string, ok bool, detail string) error) (p *proof, end func()) {
	p = &proof{ctx: ctx, t: s.txEnv.BeginSystem(time.Now()), x: s.executor(ctx), emit: emit}
	return p, func() {
		p.t.Rollback()
		if s.tx != nil {
			s.activity.SetTransaction(s.tx.Tx)
		}
	}
}

// lock keeps the definition of a table as it is.
func (p *proof) lock(table catalog.OID, noWait bool) error {
	return p.t.LockTable(p.ctx, table, locks.AccessShare, noWait)
}

// query runs a SELECT, and passes its rows on.
func (p *proof) query(view *catalog.View, text string, row func(row []types.Datum) error) error {
	_, err := p.x.Against(view).System(p.ctx, p.t, text, nil, row)
	return err
}

// maxOrphans is how many keys that refer to nothing sherd.check() names of one foreign key.
const maxOrphans = 10

// checkForeignKeys proves all foreign keys of the database, each at one timestamp, in a transaction of its own: what the session's has not
// committed is not looked at.
func (s *Session) checkForeignKeys(ctx context.Context, emit func(check, subject string, ok bool, detail string) error) error {
	p, end := s.prove(ctx, emit)
	defer end()
	var keys []*refint.Key
	view := s.db.cfg.Catalog.View()
	for table := range view.Tables(s.database) {
		keys = append(keys, refint.From(view, table)...)
	}
	slices.SortFunc(keys, func(a, b *refint.Key) int {
		return cmp.Or(cmp.Compare(a.ChildSchema, b.ChildSchema), cmp.Compare(a.Child.Name, b.Child.Name), cmp.Compare(a.Con.OID, b.Con.OID))
	})
	for _, k := range keys {
		if err := p.foreignKey(k); err != nil {
			return err
		}
	}
	return nil
}

// foreignKey reports on one foreign key.
func (p *proof) foreignKey(k *refint.Key) error {
	const what = "foreign key"
	subject := k.ChildSchema + "." + k.Child.Name + " " + k.Con.Name
	for _, table := range []catalog.OID{k.Child.OID, k.Parent.OID} {
		err := p.lock(table, true) // it may be this very session that is changing it
		if errors.Is(err, locks.ErrNotAvailable) {
			return p.emit(what, subject, true, "not looked at: the definition of its tables is being changed")
		}
		if err != nil {
			return err
		}
	}
	view := p.t.Newest()
	if k = refint.Current(view, k); k == nil {
		return nil // dropped meanwhile
	}
	if !k.Con.Valid {
		return p.emit(what, subject, true, "not looked at: it is NOT VALID")
	}
	found := 0
	err := p.query(view, k.Orphans(maxOrphans+1), func(row []types.Datum) error {
		if found++; found > maxOrphans {
			return p.emit(what, subject, false, "and more")
		}
		return p.emit(what, subject, false, k.Broken(row, p.x.Values).Detail)
	})
	if err != nil || found > 0 {
		return err
	}
	rows := int64(0)
	err = p.query(view, k.Count(), func(row []types.Datum) error {
		rows = row[0].N
		return nil
	})
	if err != nil {
		return err
	}
	return p.emit(what, subject, true, fmt.Sprintf("%d keys", rows))
}

// maxLost is how many faulty former ids sherd.check() names of one collection.
const maxLost = 10

// checkFormerIDs proves of all collections whose documents have former ids that each of these leads to a document, and is no document's present id. It looks at
// what is committed, in a transaction of its own.
func (s *Session) checkFormerIDs(ctx context.Context, emit func(check, subject string, ok bool, detail string) error) error {
	p, end := s.prove(ctx, emit)
	defer end()
	byID := *p.x.Compiler
	byID.ByID, p.x.Compiler = true, &byID
	for table := range s.db.cfg.Catalog.View().Tables(s.database) {
		if table.Forwarding == 0 {
			continue
		}
		if err := p.formerIDs(table.OID); err != nil {
			return err
		}
	}
	return nil
}

func (p *proof) formerIDs(oid catalog.OID) error {
	const what = "former ids"
	if err := p.lock(oid, false); err != nil {
		return err
	}
	view := p.t.Newest()
	table := view.Table(oid)
	if table == nil || table.Forwarding == 0 || forward.Key(table) < 0 {
		return nil
	}
	schema := view.Schema(table.Schema).Name
	subject, entries := schema+"."+table.Name, forward.EntriesOf(view, table)
	name, key := builtin.QuoteIdent(schema)+"."+builtin.QuoteIdent(table.Name), builtin.QuoteIdent(table.Columns[forward.Key(table)].Name)
	found := 0
	for _, fault := range []struct{ text, says string }{
		{"SELECT f.old, f.new FROM %[1]s f WHERE NOT EXISTS (SELECT FROM %[2]s x WHERE x.%[3]s = f.new) LIMIT %[4]d", "%s leads to %s, which does not exist"},
		{"SELECT f.old, f.new FROM %[1]s f JOIN %[2]s x ON x.%[3]s = f.old LIMIT %[4]d", "%s leads to %s, but is a document itself"},
	} {
		err := p.query(view, fmt.Sprintf(fault.text, entries, name, key, maxLost), func(row []types.Datum) error {
			found++
			return p.emit(what, subject, false, fmt.Sprintf(fault.says, row[0].S, row[1].S))
		})
		if err != nil {
			return err
		}
	}
	if found > 0 {
		return nil
	}
	n := int64(0)
	err := p.query(view, "SELECT count(*) FROM "+entries, func(row []types.Datum) error {
		n = row[0].N
		return nil
	})
	if err != nil {
		return err
	}
	return p.emit(what, subject, true, fmt.Sprintf("%d former ids", n))
}

// checkParts proves the parts of all tables with split documents, see verify.Split. It looks at what is committed, at one timestamp for each table.
func (s *Session) checkParts(ctx context.Context, emit func(check, subject string, ok bool, detail string) error) error {
	p, end := s.prove(ctx, emit)
	defer end()
	for table := range s.db.cfg.Catalog.View().Tables(s.database) {
		if table.Hot == nil {
			continue
		}
		if err := p.parts(table.OID); err != nil {
			return err
		}
	}
	return nil
}

// partsProof is of one table.
type partsProof struct {
	*proof
	view         *catalog.View
	table, parts *catalog.Table
}

// parts reports on the split documents of one table.
func (p *proof) parts(oid catalog.OID) error {
	if err := p.lock(oid, false); err != nil { // documents are not split meanwhile
		return err
	}
	view := p.t.Newest()
	of := &partsProof{proof: p, view: view, table: view.Table(oid)}
	if of.table == nil || of.table.Hot == nil {
		return nil
	}
	if of.parts = view.Table(of.table.Hot.Parts); of.parts == nil {
		return nil
	}
	return of.report()
}

func (p *partsProof) report() (err error) {
	const what = "split documents"
	if p.x.At, err = p.t.CurrentEverywhere(p.ctx); err != nil {
		return err
	}
	parts, err := p.all()
	if err != nil {
		return err
	}
	proof := verify.NewSplit(p.table, parts)
	for i := range p.table.Hot.Documents {
		d := &p.table.Hot.Documents[i]
		if d.Joined != 0 {
			continue
		}
		own, err := p.row(d)
		if err != nil {
			return err
		}
		proof.Document(d, own, own == nil, func(int64) bool { return true })
	}
	subject := p.view.Schema(p.table.Schema).Name + "." + p.table.Name
	found := proof.End(true)
	if len(found) == 0 {
		return p.emit(what, subject, true, proof.Said())
	}
	for _, detail := range found[:min(len(found), maxLost)] {
		if err := p.emit(what, subject, false, detail); err != nil {
			return err
		}
	}
	return nil
}

// ask runs a statement that may name the table of the parts.
func (p *partsProof) ask(text string, emit exec.Emit) error {
	_, err := p.x.Against(p.view).Hidden(p.ctx, p.t, stmt.Hidden{Text: text}, emit)
	return err
}

// all gives the parts that there are, by their keys: the number of the document, and what each knows of the counters.
func (p *partsProof) all() (map[int64][]types.Datum, error) {
	columns := ""
	for i := range p.table.Hot.Counters {
		columns += fmt.Sprintf(", b%d", i)
	}
	parts := map[int64][]types.Datum{}
	err := p.ask("SELECT k, d"+columns+" FROM "+quotedName(p.view, p.parts), func(row []types.Datum) error {
		kept := make([]types.Datum, len(row)-1)
		for i := range kept {
			kept[i] = row[i+1].Clone()
		}
		parts[row[0].N] = kept
		return nil
	})
	return parts, err
}

// row gives what a document's own row says of the counters, nil where there is none.
func (p *partsProof) row(d *catalog.HotDocument) (own []types.Datum, err error) {
	columns := []string{"true"}
	for _, c := range p.table.Hot.Counters {
		column := builtin.QuoteIdent(p.table.ColumnByNum(c.Column).Name)
		if len(c.Path) == 0 {
			columns = append(columns, column+"::numeric")
			continue
		}
		path := column + " #> ARRAY[" + literals(c.Path) + "]"
		columns = append(columns, "CASE WHEN jsonb_typeof("+path+") = 'number' THEN ("+path+")::numeric END")
	}
	text := "SELECT " + strings.Join(columns, ", ") + " FROM " + quotedName(p.view, p.table) + " WHERE " + builtin.QuoteIdent(keyColumn(p.table).Name) + " = " + builtin.QuoteLiteral(d.ID)
	err = p.ask(text, func(row []types.Datum) error {
		own = make([]types.Datum, len(row)-1)
		for i := range own {
			own[i] = row[i+1].Clone()
		}
		return nil
	})
	return own, err
}
