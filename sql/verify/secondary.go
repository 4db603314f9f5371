package verify

import (
	"bytes"
	"context"
	"hash/maphash"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
)

// secondary is a secondary index that is being checked. A local one is compared with the rows of
// each fragment, a global one after all fragments have been read.
type secondary struct {
	def     *catalog.Index
	name    string // with its schema
	finding *finding
	local   tallys // of the current fragment
	global  tallys // of all fragments
}

// secondaries prepares the checks of a table's secondary indexes.
func (c *Check) secondaries(t *tableState, def *catalog.Table) error {
	rules, err := plan.TableIndexes(c.view, def, plan.Env{Fold: expr.EvalConst})
	if err != nil {
		return err
	}
	if t.index, err = table.NewIndexCheck(t.rows, rules); err != nil {
		return err
	}
	t.secondary = map[uint32]*secondary{}
	schema := ""
	if s := c.view.Schema(def.Schema); s != nil {
		schema = s.Name + "."
	}
	for _, r := range rules {
		t.secondary[r.Def.StorageID] = &secondary{def: r.Def, name: schema + r.Def.Name}
	}
	return nil
}

// reportSecondaries creates the findings of a table's secondary indexes, in order.
func (c *Check) reportSecondaries(t *tableState, def *catalog.Table) {
	for i := range def.Indexes {
		if s := t.secondary[def.Indexes[i].StorageID]; s != nil {
			unit := "entries"
			if s.def.State != catalog.IndexPublic {
				unit = "entries, being built"
			}
			s.finding = c.finding(checkIndex, s.name, unit)
		}
	}
}

// checkSecondaryEntry checks an entry of a secondary index; ok is false if the table has no such
// index.
func (p *pass) checkSecondaryEntry(ctx context.Context, index uint32, key, value []byte) (ok bool, err error) {
	s := p.table.secondary[index]
	if s == nil {
		return false, nil
	}
	if s.def.Global {
		if b, ok := table.BucketOfEntry(key); ok && p.movedAway(uint32(b)) {
			return true, nil
		}
		if bucket, _, named, ok := p.table.rows.EntryPlace(key, value, false); ok && named {
			p.value = table.PlainEntry(p.value[:0], value, bucket, false)
			value = p.value
		}
	} else if plain, ok, err := p.plain(ctx, p.table, s, key, value); err != nil {
		return true, err
	} else if ok {
		if plain == nil {
			p.stale++
			return true, nil
		}
		value = plain
	}
	s.finding.looked++
	if _, err := p.table.index.RowOf(key, value); err != nil {
		p.c.fault(checkIndex, s.name, "%s: %s is malformed", p.name, table.KeyName(key))
		return true, nil
	}
	sum := &s.local
	if s.def.Global {
		sum = &s.global
		if b, ok := table.BucketOfEntry(key); !ok || !p.owned.Contains(b) {
			p.c.fault(checkIndex, s.name, "%s: %s lies in bucket %d, which the map does not give to this fragment",
				p.name, table.KeyName(key), b)
		}
	}
	p.hashEntry(&sum.entries, key, value)
	return true, nil
}

// expectEntries adds the entries of a row to the tallies.
func (p *pass) expectEntries(key []byte) error {
	return p.table.index.Entries(key, func(e table.StoredEntry) error {
		s := p.table.secondary[e.Index.StorageID]
		if e.Index.Global {
			p.hashEntry(&s.global.rows, e.Key, e.Value)
		} else {
			p.hashEntry(&s.local.rows, e.Key, e.Value)
		}
		return nil
	})
}

func (p *pass) hashEntry(t *tally, key, value []byte) {
	p.hash(t, value, key)
}

// compareSecondaries compares the local indexes of a fragment with its rows.
func (p *pass) compareSecondaries(ctx context.Context) error {
	for id, t := range p.c.tables {
		for _, s := range t.secondary {
			differs := s.local.rows != s.local.entries
			s.local = tallys{}
			if !differs || s.def.Global || s.def.State != catalog.IndexPublic {
				continue
			}
			if err := p.missingEntries(ctx, id, t, s); err != nil {
				return err
			}
			if err := p.strayEntries(ctx, id, t, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// missingEntries names the rows whose entries are missing from an index.
func (p *pass) missingEntries(ctx context.Context, id uint32, t *tableState, s *secondary) error {
	return p.f.View.Scan(ctx, indexSpan(id, 0), false, func(key, value []byte) error {
		if len(key) >= rowAt && p.movedAway(bucketOf(key[bucketAt:])) {
			return nil
		}
		if len(key) < rowAt || t.rows.Content(value) != nil {
			return nil // named already
		}
		return t.index.Entries(key, func(e table.StoredEntry) error {
			if e.Index != s.def {
				return nil
			}
			// another row is read meanwhile
			e.Key, e.Value = bytes.Clone(e.Key), bytes.Clone(e.Value)
			got, err := p.entry(ctx, t, s, e.Key)
			switch {
			case err != nil:
				return err
			case got == nil:
				p.c.fault(checkIndex, s.name, "%s: %s has no entry", p.name, t.rows.Name(key[rowAt:]))
			case !bytes.Equal(got, e.Value):
				p.c.fault(checkIndex, s.name, "%s: the entry of %s names another row", p.name, t.rows.Name(key[rowAt:]))
			}
			return nil
		})
	})
}

// entry reads an entry in its plain form; nil if there is none that counts.
func (p *pass) entry(ctx context.Context, t *tableState, s *secondary, key []byte) ([]byte, error) {
	value, err := p.f.View.Get(ctx, key)
	if err != nil || value == nil || s != nil && s.def.Global {
		return value, err
	}
	if plain, ok, err := p.plain(ctx, t, s, key, value); ok || err != nil {
		return plain, err
	}
	return value, nil
}

// strayEntries names the entries that do not follow from the row that they refer to.
func (p *pass) strayEntries(ctx context.Context, id uint32, t *tableState, s *secondary) error {
	var row []byte
	return p.f.View.Scan(ctx, indexSpan(id, s.def.StorageID), false, func(key, value []byte) error {
		if plain, ok, err := p.plain(ctx, t, s, key, value); err != nil || ok && plain == nil {
			return err
		}
		named, err := t.index.RowOf(key, value)
		if err != nil {
			return nil // named already
		}
		row = append(row[:0], named...)
		stored, err := p.f.View.Get(ctx, row)
		if err != nil {
			return err
		}
		if stored == nil || t.rows.Content(stored) != nil {
			p.c.fault(checkIndex, s.name, "%s: the entry %s names a row that is not there", p.name,
				table.KeyName(key[bucketAt:]))
			return nil
		}
		follows := false
		err = t.index.Entries(row, func(e table.StoredEntry) error {
			follows = follows || e.Index == s.def && bytes.Equal(e.Key, key)
			return nil
		})
		if err == nil && !follows {
			p.c.fault(checkIndex, s.name, "%s: the entry %s does not follow from the row it names", p.name,
				table.KeyName(key[bucketAt:]))
		}
		return err
	})
}

// compareGlobals compares the global indexes with the rows of all fragments, if all could be read.
func (c *Check) compareGlobals() {
	if c.taken < len(c.db.Fragments) && c.apart == "" {
		return
	}
	for _, t := range c.tables {
		for _, s := range t.secondary {
			if c.apart != "" && s.def.Global {
				s.finding.notes = append(s.finding.notes,
					"not compared with the rows, which may lie in other fragments: "+c.apart)
				continue
			}
			if !s.def.Global || s.def.State != catalog.IndexPublic || s.global.rows == s.global.entries {
				continue
			}
			if n, m := s.global.entries.n, s.global.rows.n; n != m {
				c.fault(checkIndex, s.name, "the fragments hold %d entries, %d follow from the rows", n, m)
			} else {
				c.fault(checkIndex, s.name, "some of its %d entries are not those that follow from the rows", n)
			}
		}
	}
}

// newSeeds returns the seeds for the hashes of a check.
func newSeeds() [2]maphash.Seed { return [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()} }

// droppedIndex reports whether the key belongs to an index that is being deleted.
func (p *pass) droppedIndex(index uint32, key []byte) bool {
	return p.c.droppingIndex[[2]uint32{p.storageID, index}] || p.dropped(key)
}
