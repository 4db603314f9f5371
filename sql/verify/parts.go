package verify

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/splitdoc"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// splitDocuments proves the parts of a table's split documents, as far as the parts and the
// documents lie in the fragments that are read.
func (r *references) splitDocuments(ctx context.Context, x *relation) error {
	t, parts := x.split, r.view.Table(x.split.Hot.Parts)
	rows := &located{references: r, side: sideOf(t, []*catalog.Column{t.ColumnByNum(t.PrimaryKey().Columns[0])})}
	own, err := rows.bases(ctx)
	if err != nil {
		return err
	}
	pieces := &located{references: r, side: sideOf(parts, []*catalog.Column{parts.ColumnByNum(catalog.PartKey)})}
	known, err := pieces.known(ctx, len(t.Hot.Counters))
	if err != nil {
		return err
	}
	s := NewSplit(t, known)
	for i := range t.Hot.Documents {
		d := &t.Hot.Documents[i]
		if d.Joined != 0 && r.settled {
			continue // else the document may still be split, with its parts
		}
		key, err := types.Input(rows.side.columns[0].Type, -1, d.ID, nil)
		if err != nil {
			return err
		}
		row := own[string(d.Key)]
		s.Document(d, row, row == nil && rows.missing(key),
			func(k int64) bool { return pieces.missing(types.NewInt(k)) })
	}
	for _, fault := range s.End(r.settled) {
		r.fault(x.check, x.subject, "%s", fault)
	}
	r.finding(x.check, x.subject, x.unit).said = s.Said()
	return nil
}

// located finds rows of a table by the keys of one column, and knows where they lie.
type located struct {
	*references
	side   side
	found  []int64 // how many rows each part has
	unread []bool  // parts with unreadable rows, which are reported elsewhere
}

// each calls fn with the encoded key and the values of every readable row.
func (l *located) each(ctx context.Context, fn func(key []byte, row types.Row) error) error {
	rows, err := table.NewRowCheck(l.side.def)
	if err != nil {
		return err
	}
	l.found, l.unread = make([]int64, len(l.parts)), make([]bool, len(l.parts))
	for i := range l.parts {
		err := l.parts[i].View.Scan(ctx, indexSpan(l.side.def.StorageID, 0), false, func(key, value []byte) error {
			l.found[i]++
			if len(key) < rowAt || rows.Content(value) != nil {
				l.unread[i] = true
				return nil
			}
			return fn(key[rowAt:], rows.Row())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bases returns the counters in the rows of split documents, by encoded key.
func (l *located) bases(ctx context.Context) (map[string][]types.Datum, error) {
	hot, out := l.side.def.Hot, map[string][]types.Datum{}
	err := l.each(ctx, func(key []byte, row types.Row) error {
		if !slices.ContainsFunc(hot.Documents, func(d catalog.HotDocument) bool {
			return string(d.Key) == string(key)
		}) {
			return nil
		}
		own := make([]types.Datum, len(hot.Counters))
		for i, c := range hot.Counters {
			var err error
			if own[i], err = splitdoc.CounterOf(c, row); err != nil {
				return err
			}
		}
		out[string(key)] = own
		return nil
	})
	return out, err
}

// known returns the parts by key, for NewSplit.
func (l *located) known(ctx context.Context, counters int) (map[int64][]types.Datum, error) {
	out := map[int64][]types.Datum{}
	err := l.each(ctx, func(_ []byte, row types.Row) error {
		part := []types.Datum{row[catalog.PartDocument-1]}
		for i := range counters {
			part = append(part, row[catalog.BaseColumn(i)].Clone())
		}
		out[row[catalog.PartKey-1].N] = part
		return nil
	})
	return out, err
}

// missing reports whether a row that was not found does not exist: its place has been read
// completely and its rows are not being deleted.
func (l *located) missing(key types.Datum) bool {
	home := rowBucket(l.side.def, l.side)
	if home == nil {
		return false
	}
	b, err := home(types.Row{key})
	if err != nil {
		return false
	}
	for i := range l.parts {
		if l.has[i].Contains(b) {
			return !l.unread[i] && !l.mayBeDeleted(i)
		}
	}
	return false
}

// mayBeDeleted reports whether a fragment may be deleting the table's rows, or may have deleted
// them, while the definitions here do not say so yet.
func (l *located) mayBeDeleted(part int) bool {
	if !l.lags {
		return false
	}
	span := indexSpan(l.side.def.StorageID, 0)
	return l.found[part] == 0 || slices.ContainsFunc(l.parts[part].Dropping,
		func(s txn.Span) bool { return s.Contains(span.Start) || span.Contains(s.Start) })
}

// owned returns the buckets whose rows a part has.
func (p *Part) owned(m *shardmap.Map) shardmap.BucketSet {
	f := Fragment{Moved: p.Moved, Added: p.Added}
	return f.has(m.Owned(p.ID))
}
