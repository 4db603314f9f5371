package verify

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// splitDocuments proves the parts of a table's split documents, as far as they and the documents lie in what is here.
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
			continue // else it may have been split still, with all that goes with it
		}
		key, err := types.Input(rows.side.columns[0].Type, -1, d.ID, nil)
		if err != nil {
			return err
		}
		row := own[string(d.Key)]
		s.Document(d, row, row == nil && rows.missing(key), func(k int64) bool { return pieces.missing(types.NewInt(k)) })
	}
	for _, fault := range s.End(r.settled) {
		r.fault(x.check, x.subject, "%s", fault)
	}
	r.finding(x.check, x.subject, x.unit).said = s.Said()
	return nil
}

// located is rows of a table by their keys of one column, of which it is known where they lie.
type located struct {
	*references
	side   side
	found  []int64 // how many rows were found in each of the parts
	unread []bool  // whether some of these cannot be read, which others say
}

// each calls fn with the encoded key and the values of every row that can be read.
func (l *located) each(ctx context.Context, fn func(key []byte, row types.Row) error) error {
	rows, err := exec.NewRowCheck(l.side.def)
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

// bases gives what the rows of split documents say of the counters, by their encoded keys.
func (l *located) bases(ctx context.Context) (map[string][]types.Datum, error) {
	hot, out := l.side.def.Hot, map[string][]types.Datum{}
	err := l.each(ctx, func(key []byte, row types.Row) error {
		if !slices.ContainsFunc(hot.Documents, func(d catalog.HotDocument) bool { return string(d.Key) == string(key) }) {
			return nil
		}
		own := make([]types.Datum, len(hot.Counters))
		for i, c := range hot.Counters {
			var err error
			if own[i], err = exec.CounterOf(c, row); err != nil {
				return err
			}
		}
		out[string(key)] = own
		return nil
	})
	return out, err
}

// known gives the parts by their keys, as NewSplit takes them.
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

// missing tells whether there is no row with a key that was not found: where it would lie is here, and was not let go of.
func (l *located) missing(key types.Datum) bool {
	home := homeOf(l.side.def, l.side)
	if home == nil {
		return false
	}
	b, err := home(types.Row{key})
	if err != nil {
		return false
	}
	for i := range l.parts {
		if l.has[i].Contains(b) {
			return !l.unread[i] && !l.letGo(i)
		}
	}
	return false
}

// letGo tells whether a fragment may be deleting the table's rows, or have deleted them, while the definitions here do not say so yet.
func (l *located) letGo(part int) bool {
	if !l.lags {
		return false
	}
	span := indexSpan(l.side.def.StorageID, 0)
	return l.found[part] == 0 || slices.ContainsFunc(l.parts[part].Dropping, func(s txn.Span) bool { return s.Contains(span.Start) || span.Contains(s.Start) })
}

// owned gives the buckets of which a part has the rows.
func (p *Part) owned(m *shardmap.Map) shardmap.BucketSet {
	f := Fragment{Moved: p.Moved, Added: p.Added}
	return f.has(m.Owned(p.ID))
}
