package sql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Bounds of what may be split.
const (
	maxParts        = 1024           // of a document
	maxHotDocuments = 64             // of a table
	maxCounters     = 32             // of a table
	joinedFor       = 48 * time.Hour // documents that are whole again are remembered: longer than any snapshot lasts
)

// HotSplit implements builtin.HotInfo.
func (i info) HotSplit(table uint32, id string, parts int, counters []string) (int, error) {
	const function = "hot_split"
	t, err := i.hotTable(function, table, id)
	if err != nil {
		return 0, err
	}
	if parts < 2 || parts > maxParts {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "a document can be split into 2 to %d parts, not %d", maxParts, parts)
	}
	return parts, i.redefining(t, func(ctx context.Context, t *catalog.Table) error {
		s := splitting{Session: i.Session, ctx: ctx, table: t.Clone()}
		if err := s.begin(id); err != nil {
			return err
		}
		if err := s.declare(counters); err != nil {
			return err
		}
		return s.split(parts)
	})
}

// HotJoin implements builtin.HotInfo.
func (i info) HotJoin(table uint32, id string) error {
	t, err := i.hotTable("hot_join", table, id)
	if err != nil {
		return err
	}
	return i.redefining(t, func(ctx context.Context, t *catalog.Table) error {
		s := splitting{Session: i.Session, ctx: ctx, table: t.Clone()}
		if err := s.begin(id); err != nil {
			return err
		}
		return s.join()
	})
}

// hotTable finds the table of a document: the one that is named, or for 0 that of the id's collection. The role must own it.
func (i info) hotTable(function string, oid uint32, id string) (*catalog.Table, error) {
	view := i.view()
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
			WithHint("Name the table too, as in SELECT sherd.hot_split('counters', 'x', 16) and SELECT sherd.hot_join('counters', 'x').")
	}
	name := "sherd." + function + "()"
	if i.tx != nil && (i.tx.Explicit || i.tx.Together) {
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

// redefining runs what changes which documents of a table are split, with the table to itself: all others plan anew afterwards.
func (i info) redefining(t *catalog.Table, f func(ctx context.Context, t *catalog.Table) error) (err error) {
	if err := i.notInUse("change which documents are split of", []catalog.OID{t.OID}); err != nil {
		return err
	}
	if err := i.lockTables(i.ctx, []catalog.OID{t.OID}); err != nil {
		return err
	}
	own, draft := i.tx, i.tx.Schema
	defer func() {
		if err != nil {
			own.Schema = draft // the statement may be run again
		}
	}()
	if err := own.Parts.Bound(txn.ScopeCluster); err != nil {
		return err
	}
	now := i.view().Table(t.OID)
	if now == nil {
		return pgerr.New(pgerr.UndefinedTable, `relation "%s" does not exist`, t.Name)
	}
	return f(i.ctx, now)
}

// splitting is one call of hot_split or hot_join, which has the table to itself.
type splitting struct {
	*Session
	ctx   context.Context
	table *catalog.Table // as it is going to be
	key   types.Datum
	code  []byte // the encoded key
	id    string // its text form
	which []int32
}

// begin reads the key of the document and forgets documents that have been whole for long.
func (s *splitting) begin(id string) error {
	const keyed = "The primary key has to be one column of type text, character varying, an integer or uuid."
	switch pk := s.table.PrimaryKey(); {
	case pk == nil:
		return pgerr.Unsupported(`documents of table "%s" cannot be split: it has no primary key`, s.table.Name).WithHint(keyed)
	case len(pk.Columns) != 1:
		return pgerr.Unsupported(`documents of table "%s" cannot be split: its primary key is not one column`, s.table.Name).WithHint(keyed)
	}
	switch col := keyColumn(s.table); col.Type {
	case types.Text, types.VarChar, types.Int2, types.Int4, types.Int8, types.UUID:
	default:
		return pgerr.Unsupported(`documents of table "%s" cannot be split: its primary key is of type %s`, s.table.Name, types.TypeName(col.Type)).WithHint(keyed)
	}
	var err error
	if s.key, err = types.Input(keyColumn(s.table).Type, -1, id, s.Env()); err != nil {
		return err
	}
	s.id = types.Output(keyColumn(s.table).Type, s.key, s.Env())
	if s.code, err = exec.EncodedKey(s.table, types.Row{s.key}); err != nil {
		return err
	}
	if h := s.table.Hot; h != nil {
		old := time.Now().Add(-joinedFor).UnixMicro()
		h.Documents = slices.DeleteFunc(h.Documents, func(d catalog.HotDocument) bool { return d.Joined != 0 && d.Joined < old })
	}
	return nil
}

// split makes the document's parts.
func (s *splitting) split(n int) error {
	h := s.table.Hot
	if err := s.forgetDeleted(); err != nil {
		return err
	}
	if h.DocumentAt(s.code) != nil {
		return pgerr.New(pgerr.DuplicateObject, `document "%s" of table "%s" is split already`, s.id, s.table.Name).
			WithHint("SELECT sherd.hot_join(%s, %s) makes it whole.", builtin.QuoteLiteral(builtin.QuoteIdent(s.table.Name)), builtin.QuoteLiteral(s.id))
	}
	if active := slices.Collect(func(yield func(int32) bool) {
		for _, d := range h.Documents {
			if d.Joined == 0 && !yield(d.Number) {
				return
			}
		}
	}); len(active) >= maxHotDocuments {
		return pgerr.New(pgerr.ProgramLimitExceeded, `table "%s" has %d split documents, and cannot have more`, s.table.Name, maxHotDocuments)
	}
	h.Documents = append(h.Documents, catalog.HotDocument{
		Number: h.Next, ID: s.id, Key: s.code, Parts: partsOf(h.Next, n), Counters: s.which, Since: time.Now().UnixMicro(), Who: info{objects: objects{s.Session}}.roleName(),
	})
	h.Next++
	if err := s.define(); err != nil {
		return err
	}
	return s.fill(&h.Documents[len(h.Documents)-1])
}

// partsOf gives keys for the parts of a document, so that each lies in a stretch of its own of the buckets: however they are spread over the fragments,
// so are the parts.
func partsOf(number int32, n int) []int64 {
	out := make([]int64, n)
	for left, k := n, catalog.FirstPart(number); left > 0; k++ {
		at := int(uint64(shardmap.HashBucket(strconv.FormatInt(k, 10))) * uint64(n) / shardmap.BucketCount)
		if out[at] == 0 {
			out[at] = k
			left--
		}
	}
	return out
}

// forgetDeleted notes of documents that were deleted that they are split no more; one that was made again is whole.
func (s *splitting) forgetDeleted() error {
	split, err := s.splitNow(s.ctx, s.view(), s.table)
	if err != nil {
		return err
	}
	for i := range s.table.Hot.Documents {
		if d := &s.table.Hot.Documents[i]; d.Joined == 0 && !split[d.Number] {
			d.Joined = time.Now().UnixMicro()
		}
	}
	return nil
}

// define puts the table as it is going to be, and its table of parts, into the transaction's change of definitions.
func (s *splitting) define() error {
	var oid, constraint catalog.OID
	if s.table.Hot.Parts == 0 {
		var err error
		if oid, err = s.db.cfg.Catalog.NewOID(s.ctx); err == nil {
			constraint, err = s.db.cfg.Catalog.NewOID(s.ctx)
		}
		if err != nil {
			return err
		}
		s.table.Hot.Parts = oid
	}
	return s.tx.ChangeSchema(s.ctx, func(v *catalog.View, ch *catalog.Change) error {
		parts := catalog.NewPartsTable(s.table, s.table.Hot.Parts, constraint)
		if oid == 0 {
			parts = v.Table(s.table.Hot.Parts).Clone()
		}
		before := len(parts.Columns)
		for len(parts.Columns) < catalog.AddedColumn(len(s.table.Hot.Counters)) {
			parts.AddCounter()
		}
		if oid != 0 || len(parts.Columns) > before {
			if err := ch.PutTable(parts); err != nil {
				return err
			}
		}
		return ch.PutTable(s.table)
	})
}

// fill writes the document's parts. Its own row is written as it is, so that no transaction writes it that has seen the document before it was split.
func (s *splitting) fill(d *catalog.HotDocument) error {
	view := s.view()
	x := s.executor(s.ctx)
	f := newFold(s.ctx, &x, s.tx.Tx, view, view.Table(s.table.OID), view.Table(s.table.Hot.Parts))
	bases, there, err := f.bases(d)
	if err != nil {
		return err
	}
	if !there {
		return pgerr.New(pgerr.UndefinedObject, `document "%s" does not exist in table "%s"`, s.id, s.table.Name)
	}
	if err := f.addToDocument(d, noSums(f.table)); err != nil {
		return err
	}
	columns, values := "k, d", "$1, $2"
	params, args := []types.OID{types.Int8, types.Int8}, []types.Datum{types.Null, types.NewInt(int64(d.Number))}
	for _, n := range d.Counters {
		params, args = append(params, types.Numeric), append(args, bases[n])
		columns += fmt.Sprintf(", c%d, b%d", n, n)
		values += fmt.Sprintf(", 0, $%d", len(args))
	}
	text := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", quotedName(view, f.parts), columns, values)
	p, err := stmt.HiddenProgram(view, s.database, text, params...)
	if err != nil {
		return err
	}
	for _, k := range d.Parts {
		args[0] = types.NewInt(k)
		if _, err := x.Run(s.ctx, s.tx.Tx, p, args, nil); err != nil {
			return err
		}
	}
	return nil
}

func noSums(t *catalog.Table) []types.Datum {
	out := make([]types.Datum, len(t.Hot.Counters))
	for i := range out {
		out[i] = types.NumericFromInt(0)
	}
	return out
}

// join puts the parts into the document and deletes them.
func (s *splitting) join() error {
	var d *catalog.HotDocument
	if s.table.Hot != nil {
		d = s.table.Hot.DocumentAt(s.code)
	}
	if d == nil {
		return pgerr.New(pgerr.UndefinedObject, `document "%s" of table "%s" is not split`, s.id, s.table.Name).WithHint("sherd.hot_documents lists those that are.")
	}
	view := s.view()
	x := s.executor(s.ctx)
	f := newFold(s.ctx, &x, s.tx.Tx, view, view.Table(s.table.OID), view.Table(s.table.Hot.Parts))
	sums, _, err := f.lockParts([]*catalog.HotDocument{d})
	if err != nil {
		return err
	}
	if sum := sums[d.Number]; sum != nil {
		if err := f.addToDocument(d, sum); err != nil {
			return err
		}
		text := fmt.Sprintf("DELETE FROM %s WHERE k = ANY($1)", quotedName(view, f.parts))
		if err := f.run(aboutParts(text, d), nil); err != nil {
			return err
		}
	}
	d.Joined = cmp.Or(time.Now().UnixMicro(), 1)
	return s.tx.ChangeSchema(s.ctx, func(_ *catalog.View, ch *catalog.Change) error { return ch.PutTable(s.table) })
}
