package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/txn"
)

// compareIndex names the faults of a table's index in primary key order, in both directions.
func (p *pass) compareIndex(ctx context.Context, id uint32, t *tableState) error {
	if err := p.rowsWithoutEntry(ctx, id, t); err != nil {
		return err
	}
	return p.entriesWithoutRow(ctx, id, t)
}

func indexSpan(id, index uint32) txn.Span {
	return txn.Prefix(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, id), index))
}

func (p *pass) rowsWithoutEntry(ctx context.Context, id uint32, t *tableState) error {
	var buf []byte
	return p.f.View.Scan(ctx, indexSpan(id, 0), false, func(key, value []byte) error {
		if len(key) < rowAt || p.movedAway(bucketOf(key[bucketAt:])) {
			return nil // named already, or moved away
		}
		var want []byte
		buf, want = t.rows.EntryOf(buf[:0], key)
		got, err := p.entry(ctx, t, nil, buf)
		switch {
		case err != nil:
			return err
		case got == nil:
			p.c.fault(checkIndex, t.name, "%s: %s has no entry", p.name, p.rowName(t, key, value))
		case !bytes.Equal(got, want):
			p.c.fault(checkIndex, t.name, "%s: the entry of %s names %s, the row lies in bucket %d", p.name,
				p.rowName(t, key, value), bucketName(got), bucketOf(want))
		}
		return nil
	})
}

func (p *pass) entriesWithoutRow(ctx context.Context, id uint32, t *tableState) error {
	var buf []byte
	return p.f.View.Scan(ctx, indexSpan(id, t.rows.Order()), false, func(key, value []byte) error {
		if plain, ok, err := p.plain(ctx, t, nil, key, value); err != nil || ok && plain == nil {
			return err
		}
		row, ok := t.rows.RowOf(buf[:0], key, value)
		if !ok {
			p.c.fault(checkIndex, t.name, "%s: the entry under %s is malformed", p.name, table.KeyName(key[bucketAt:]))
			return nil
		}
		buf = row
		got, err := p.f.View.Get(ctx, row)
		if err == nil && got == nil {
			p.c.fault(checkIndex, t.name, "%s: the entry under %s names a row in bucket %d that is not there",
				p.name, table.KeyName(key[bucketAt:]), bucketOf(value))
		}
		return err
	})
}

// rowName returns the name of a row, its primary key, as far as it can be read.
func (p *pass) rowName(t *tableState, key, value []byte) string {
	if t.rows.Content(value) != nil {
		return table.KeyName(key[rowAt:])
	}
	return t.rows.Name(key[rowAt:])
}

func bucketName(value []byte) string {
	if len(value) != 3 {
		return "no bucket"
	}
	return fmt.Sprintf("bucket %d", bucketOf(value))
}
