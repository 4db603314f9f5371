package table

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// RowCheck checks stored rows and index entries of a table against its definition. It must not be
// used by several goroutines.
type RowCheck struct {
	Table  *Table
	reader types.RowReader
	row    types.Row
	keys   types.Row
	key    []byte
}

// NewRowCheck makes a RowCheck.
func NewRowCheck(def *catalog.Table) (*RowCheck, error) {
	t, err := New(def)
	if err != nil {
		return nil, err
	}
	return &RowCheck{Table: t, row: make(types.Row, len(t.Kinds))}, nil
}

// Order returns the number of the index in primary key order, 0 if there is none.
func (c *RowCheck) Order() uint32 { return c.Table.Order }

func corrupted(format string, args ...any) error {
	return pgerr.New(pgerr.DataCorrupted, format, args...)
}

// Content decodes a row and checks its values: documents must be well formed, texts UTF-8, NOT NULL
// columns not null.
func (c *RowCheck) Content(value []byte) error {
	clear(c.row)
	if err := c.Table.Decode(&c.reader, c.row, value); err != nil {
		return err
	}
	for i, d := range c.row {
		col := &c.Table.Def.Columns[i]
		if col.Dropped {
			continue
		}
		switch {
		case d.IsNull():
			if col.NotNull {
				return corrupted("column %q is null", col.Name)
			}
		case d.K == types.KindJSONB:
			if err := jsonb.Doc(d.S).Validate(); err != nil {
				return corrupted("column %q: %v", col.Name, err)
			}
		case d.K == types.KindText && !utf8.ValidString(d.S):
			return corrupted("column %q is not UTF-8", col.Name)
		}
	}
	return nil
}

// Row returns the row that Content has decoded. It is valid until the next call of Content.
func (c *RowCheck) Row() types.Row { return c.row }

// Place checks the key of the row that Content has decoded against its values: the primary key, the
// bucket that follows from it, and the policy if queries rely on it.
func (c *RowCheck) Place(key []byte) error {
	if len(key) < KeyAt {
		return corrupted("the key is too short")
	}
	if generation := binary.BigEndian.Uint32(key[generationAt:]); generation != firstGeneration {
		return corrupted("the key has generation %d", generation)
	}
	want, err := c.bucket(key[KeyAt:])
	if err != nil {
		return err
	}
	if got := BucketIn(key); got != want {
		return corrupted("it lies in bucket %d, its key belongs in bucket %d", got, want)
	}
	if c.Table.Def.PolicyValidated {
		return c.Table.CheckPlace(c.row)
	}
	return nil
}

// bucket computes a row's bucket from its primary key, which must match its columns.
func (c *RowCheck) bucket(primaryKey []byte) (shardmap.Bucket, error) {
	if len(c.Table.Key) == 0 {
		if len(primaryKey) != rowIDSize {
			return 0, corrupted("the hidden row id has %d bytes", len(primaryKey))
		}
		return BucketOfRowID(primaryKey), nil
	}
	c.keys = c.Table.KeyValues(c.keys, c.row)
	if AnyNull(c.keys) {
		return 0, corrupted("the primary key has a null")
	}
	if c.key = c.Table.AppendKey(c.key[:0], c.keys); !bytes.Equal(c.key, primaryKey) {
		return 0, corrupted("it is stored under another key than its columns give")
	}
	b, ok, err := c.Table.BucketOf(c.keys)
	if err == nil && !ok {
		err = corrupted("no bucket follows from its key")
	}
	return b, err
}

// Name returns the primary key of the row that Content has decoded, as in PostgreSQL's messages.
func (c *RowCheck) Name(key []byte) string {
	if len(c.Table.Key) == 0 || len(c.row) == 0 {
		return KeyName(key)
	}
	var names, values []string
	for _, i := range c.Table.Key {
		col := &c.Table.Def.Columns[i]
		names = append(names, col.Name)
		values = append(values, clip(types.Output(col.Type, c.row[i], nil)))
	}
	return "(" + strings.Join(names, ", ") + ")=(" + strings.Join(values, ", ") + ")"
}

// KeyName returns the name of a key that cannot be decoded.
func KeyName(key []byte) string { return "key " + hex.EncodeToString(key) }

// EntryOf returns the key and value of the entry that the index in primary key order must have for
// the row under key.
func (c *RowCheck) EntryOf(dst, key []byte) (entry, value []byte) {
	return c.Table.AppendOrderKey(dst, key[KeyAt:]), key[bucketAt:generationAt]
}

// RowOf returns the key of the row that an entry names; ok is false if the entry is malformed.
func (c *RowCheck) RowOf(dst, key, value []byte) (row []byte, ok bool) {
	p, ok := PlaceOfOrder(value)
	if !ok || len(key) <= bucketAt {
		return nil, false
	}
	p = p.By(c.Table, key[bucketAt:])
	return append(c.Table.AppendRowPrefix(dst, p.Bucket), key[bucketAt:]...), true
}
