package sql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/verify"
)

// checkParts proves the parts of all tables with split documents, see verify.Split. It looks at what is committed, at one timestamp for each table.
func (s *Session) checkParts(ctx context.Context, emit func(check, subject string, ok bool, detail string) error) error {
	outer := s.tx
	t := s.systemTransaction(time.Now())
	s.tx = t
	defer func() {
		t.rollback()
		if s.tx = outer; outer != nil {
			s.inTransaction(outer)
		}
	}()
	for table := range s.db.cfg.Catalog.View().Tables(s.database) {
		if table.Hot == nil {
			continue
		}
		if err := s.proveParts(ctx, t, table.OID, emit); err != nil {
			return err
		}
	}
	return nil
}

// partsProof is of one table.
type partsProof struct {
	s            *Session
	t            *transaction
	ctx          context.Context
	view         *catalog.View
	table, parts *catalog.Table
	gateway      *exec.Gateway // reads at the timestamp
}

func (s *Session) proveParts(ctx context.Context, t *transaction, oid catalog.OID, emit func(check, subject string, ok bool, detail string) error) error {
	const what = "split documents"
	if err := t.lockTable(ctx, oid, locks.AccessShare, false); err != nil { // nobody splits documents meanwhile
		return err
	}
	p := &partsProof{s: s, t: t, ctx: ctx, view: s.catalog.View()}
	if p.table = p.view.Table(oid); p.table == nil || p.table.Hot == nil {
		return nil
	}
	if p.parts = p.view.Table(p.table.Hot.Parts); p.parts == nil {
		return nil
	}
	at, err := t.everywhere(ctx)
	if err != nil {
		return err
	}
	p.gateway = readingAt(t.gateway, at)
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
		return emit(what, subject, true, proof.Said())
	}
	for _, detail := range found[:min(len(found), maxLost)] {
		if err := emit(what, subject, false, detail); err != nil {
			return err
		}
	}
	return nil
}

// ask runs a statement that may name the table of the parts.
func (p *partsProof) ask(text string, emit exec.Emit) error {
	program, err := hiddenProgram(p.view, p.table, text, nil)
	if err != nil {
		return err
	}
	s := p.s
	outer := s.running
	defer func() { s.running = outer }()
	c := s.execution(p.ctx, nil)
	c.Gateway = p.gateway
	c.Limits.MaxFanout, c.Limits.FanoutNotice = 0, 0
	return program.Run(c, emit)
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
