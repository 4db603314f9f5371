package proof

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/counters"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/verify"
)

// allParts proves the parts of all tables with split documents (verify.Split), each table at one
// timestamp.
func (p *proof) allParts() error {
	for table := range p.t.Newest().Tables(p.database) {
		if table.Hot == nil {
			continue
		}
		if err := p.parts(table.OID); err != nil {
			return err
		}
	}
	return nil
}

// partsProof is the proof of one table's parts.
type partsProof struct {
	*proof
	view         *catalog.View
	table, parts *catalog.Table
}

// parts proves the split documents of one table.
func (p *proof) parts(oid catalog.OID) error {
	if err := p.lock(oid, false); err != nil { // no document is split or joined meanwhile
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
	for _, detail := range found[:min(len(found), maxFaults)] {
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

// all returns the parts by their keys: the number of the document, and the bases of the counters.
func (p *partsProof) all() (map[int64][]types.Datum, error) {
	columns := ""
	for i := range p.table.Hot.Counters {
		columns += fmt.Sprintf(", b%d", i)
	}
	parts := map[int64][]types.Datum{}
	err := p.ask("SELECT k, d"+columns+" FROM "+stmt.TableName(p.view, p.parts), func(row []types.Datum) error {
		kept := make([]types.Datum, len(row)-1)
		for i := range kept {
			kept[i] = row[i+1].Clone()
		}
		parts[row[0].N] = kept
		return nil
	})
	return parts, err
}

// row returns the counters in a document's own row, nil if the document does not exist.
func (p *partsProof) row(d *catalog.HotDocument) (own []types.Datum, err error) {
	columns := []string{"true"}
	for _, c := range p.table.Hot.Counters {
		column := builtin.QuoteIdent(p.table.ColumnByNum(c.Column).Name)
		if len(c.Path) == 0 {
			columns = append(columns, column+"::numeric")
			continue
		}
		path := column + " #> ARRAY[" + stmt.Literals(c.Path) + "]"
		columns = append(columns, "CASE WHEN jsonb_typeof("+path+") = 'number' THEN ("+path+")::numeric END")
	}
	text := fmt.Sprintf("SELECT %s FROM %s WHERE %s = %s", strings.Join(columns, ", "), stmt.TableName(p.view, p.table),
		builtin.QuoteIdent(counters.KeyColumn(p.table).Name), builtin.QuoteLiteral(d.ID))
	err = p.ask(text, func(row []types.Datum) error {
		own = make([]types.Datum, len(row)-1)
		for i := range own {
			own[i] = row[i+1].Clone()
		}
		return nil
	})
	return own, err
}
