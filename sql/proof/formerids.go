package proof

import (
	"fmt"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// maxFaults is how many faults are named for one table.
const maxFaults = 10

// allFormerIDs proves that each former id leads to a document, and is no document's present id.
func (p *proof) allFormerIDs() error {
	byID := *p.x.Compiler
	byID.ByID, p.x.Compiler = true, &byID
	for table := range p.t.Newest().Tables(p.database) {
		if table.Forwarding == 0 {
			continue
		}
		if err := p.formerIDs(table.OID); err != nil {
			return err
		}
	}
	return nil
}

// formerIDs proves the former ids of one table's documents.
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
	name, key := stmt.TableName(view, table), builtin.QuoteIdent(table.Columns[forward.Key(table)].Name)
	found := 0
	for _, fault := range []struct{ text, says string }{
		{
			"SELECT f.old, f.new FROM %[1]s f WHERE NOT EXISTS (SELECT FROM %[2]s x WHERE x.%[3]s = f.new) LIMIT %[4]d",
			"%s leads to %s, which does not exist",
		},
		{
			"SELECT f.old, f.new FROM %[1]s f JOIN %[2]s x ON x.%[3]s = f.old LIMIT %[4]d",
			"%s leads to %s, but is a document itself",
		},
	} {
		text := fmt.Sprintf(fault.text, entries, name, key, maxFaults)
		err := p.query(view, text, func(row []types.Datum) error {
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
