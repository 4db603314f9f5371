package sysview

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/sql/types"
)

// sequences calls f for the database's sequences.
func (b *builder) sequences(f func(t *catalog.Table) error) error {
	return b.relations(func(t *catalog.Table) error {
		if t.Sequence == nil {
			return nil
		}
		return f(t)
	})
}

func sequenceClass(b *builder, t *catalog.Table) error {
	return relation(b, t.OID, t.Name, t.Schema, t.Owner, byte(t.Kind)).persistence(t).
		oid("relfilenode", t.StorageID).int("relnatts", catalog.SequenceShown).acl("relacl", t.ACL).
		set("reltuples", types.NewFloat4(1)).int("relpages", 1).send()
}

// sequenceDepends emits the dependencies of a sequence: on its schema, and on the column that owns
// it.
func (b *builder) sequenceDepends(t *catalog.Table) error {
	sequence := object{relationClass, t.OID, 0}
	if err := b.depends(sequence, object{namespaceClass, t.Schema, 0}, 'n'); err != nil || t.Sequence.Table == 0 {
		return err
	}
	kind := byte('a')
	if t.Sequence.Internal {
		kind = 'i'
	}
	return b.depends(sequence, object{relationClass, t.Sequence.Table, t.Sequence.Column}, kind)
}

// defaultEdges returns the dependencies of a default on the sequences that it uses. Stored text
// refers to sequences by OID.
func (e *Env) defaultEdges(t *catalog.Table, c *catalog.Column) []edge {
	var out []edge
	for _, part := range strings.Split(c.Default, "'::regclass")[:strings.Count(c.Default, "'::regclass")] {
		n, err := strconv.ParseUint(part[strings.LastIndexByte(part, '\'')+1:], 10, 32)
		if s := e.table(uint32(n)); err == nil && s != nil {
			out = append(out, edge{object{attrdefClass, partOID(t.OID, c.AttNum), 0}, object{relationClass, s.OID, 0},
				'n'})
		}
	}
	return out
}

func pgSequence(b *builder) error {
	return b.sequences(func(t *catalog.Table) error {
		q := t.Sequence
		return b.row().oid("seqrelid", t.OID).oid("seqtypid", q.Type).int("seqstart", q.Start).
			int("seqincrement", q.Increment).
			int("seqmax", q.Max).int("seqmin", q.Min).int("seqcache", q.Cache).bool("seqcycle", q.Cycle).send()
	})
}

func pgSequences(b *builder) error {
	return b.sequences(func(t *catalog.Table) error {
		q := t.Sequence
		schema, _ := b.env.SchemaName(t.Schema)
		r := b.row().text("schemaname", schema).text("sequencename", t.Name).
			text("sequenceowner", b.env.roleName(t.Owner)).
			oid("data_type", q.Type).int("start_value", q.Start).int("min_value", q.Min).int("max_value", q.Max).
			int("increment_by", q.Increment).
			bool("cycle", q.Cycle).int("cache_size", q.Cache)
		if b.env.Role != nil && b.env.Role.Relation(t, acl.Select|acl.Usage, true) != 0 {
			value, called, err := b.env.SequenceValue(t)
			if err != nil {
				return err
			}
			if called {
				r.int("last_value", value)
			}
		}
		return r.send()
	})
}

// schemaSequences is information_schema.sequences, without sequences of identity columns.
func schemaSequences(b *builder) error {
	return b.sequences(func(t *catalog.Table) error {
		q := t.Sequence
		if q.Internal || b.env.Role == nil || b.env.Role.Relation(t, acl.Sequence.All(), true) == 0 {
			return nil
		}
		schema, _ := b.env.SchemaName(t.Schema)
		bits := map[types.OID]int64{types.Int2: 16, types.Int4: 32}[q.Type]
		if bits == 0 {
			bits = 64
		}
		return b.row().database("sequence_catalog").text("sequence_schema", schema).text("sequence_name", t.Name).
			text("data_type", b.env.FormatType(q.Type, -1)).int("numeric_precision", bits).
			int("numeric_precision_radix", 2).int("numeric_scale", 0).
			number("start_value", q.Start).number("minimum_value", q.Min).number("maximum_value", q.Max).
			number("increment", q.Increment).
			text("cycle_option", yesNo(q.Cycle)).send()
	})
}

// number sets a text column to a number.
func (r *record) number(column string, n int64) *record {
	return r.text(column, strconv.FormatInt(n, 10))
}

// statSequences is pg_statio_*_sequences; what is not counted is null.
func statSequences(in tableSet) source {
	return func(b *builder) error {
		return b.sequences(func(t *catalog.Table) error {
			schema, _ := b.env.SchemaName(t.Schema)
			if !in(schema) {
				return nil
			}
			return b.row().oid("relid", t.OID).text("schemaname", schema).text("relname", t.Name).send()
		})
	}
}
