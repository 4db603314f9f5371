package wire

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/plan"
)

// decoder reads a plan. After an error it reads no further.
type decoder struct {
	view    *catalog.View
	tables  []*catalog.Table
	indexes []*catalog.Index
	depth   int
	parts   int   // messages and list elements so far
	err     error // the first one
}

// plan reads a plan. It reads the tables and indexes first, wherever they are in the message.
func (d *decoder) plan(b []byte) (plan.Node, error) {
	var f, root field
	var indexes []field
	roots := 0
	for d.next(&f, &b) {
		switch f.number {
		case planTables:
			d.tables = append(d.tables, d.table(d.content(f)))
		case planIndexes:
			indexes = append(indexes, f)
		case planRoot:
			root = f
			roots++
		default:
			d.newer()
		}
	}
	for _, f := range indexes {
		d.indexes = append(d.indexes, d.index(d.content(f)))
	}
	if roots != 1 {
		d.damaged("it has %d roots", roots)
	}
	if d.err != nil {
		return nil, d.err
	}
	n := decodeNode(d, root)
	d.require(n != nil, "Plan.root")
	return n, d.err
}

// table finds a table in the catalog, in exactly the version with which the plan was made.
func (d *decoder) table(b []byte) *catalog.Table {
	var oid catalog.OID
	var version uint64
	var whole []byte
	var f field
	for d.next(&f, &b) {
		switch f.number {
		case tableOID:
			oid = decodeUnsigned[catalog.OID](d, f)
		case tableVersion:
			version = d.uint(f)
		case tableDefinition:
			whole = d.content(f)
		default:
			d.newer()
		}
	}
	switch {
	case d.err != nil:
		return nil
	case whole != nil:
		t, err := catalog.UnmarshalTable(whole)
		if err != nil {
			d.damaged("%v", err)
		}
		return t
	}
	mismatch := &VersionError{Table: oid, Want: version}
	if d.view != nil {
		t := d.view.Table(oid)
		if t != nil && t.Version == version {
			return t
		}
		mismatch.Catalog = d.view.Version()
		if t != nil {
			mismatch.Have = t.Version
		}
	}
	d.fail(mismatch)
	return nil
}

func (d *decoder) index(b []byte) *catalog.Index {
	var table, at uint64
	var f field
	for d.next(&f, &b) {
		switch f.number {
		case indexTable:
			table = d.uint(f)
		case indexAt:
			at = d.uint(f)
		default:
			d.newer()
		}
	}
	switch {
	case d.err != nil:
	case table == 0 || table > uint64(len(d.tables)):
		d.damaged("table %d is not listed", table)
	case at >= uint64(len(d.tables[table-1].Indexes)):
		d.damaged("table %q has no index %d", d.tables[table-1].Name, at)
	default:
		return &d.tables[table-1].Indexes[at]
	}
	return nil
}

// fail notes the first error.
func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *decoder) damaged(format string, args ...any) {
	if d.err == nil {
		d.err = damaged(format, args...)
	}
}

func (d *decoder) tooLarge() { d.damaged("it is too large") }

// newer refuses what this release does not know.
func (d *decoder) newer() { d.fail(ErrNewer) }

// require fails if a field is not there.
func (d *decoder) require(there bool, name string) {
	if !there {
		d.damaged("%s is missing", name)
	}
}

// only fails if a step or an expression has a second kind.
func (d *decoder) only(first bool) {
	if !first {
		d.damaged("a step or an expression has two kinds")
	}
}

// enter begins a message. If it returns false there is an error, and the message is not read.
func (d *decoder) enter() bool {
	if d.depth == maxDepth {
		d.tooLarge()
	}
	if !d.count() {
		return false
	}
	d.depth++
	return true
}

// leave ends a message.
func (d *decoder) leave() { d.depth-- }

// count counts a message or an element of a list. It returns false if there is an error.
func (d *decoder) count() bool {
	if d.parts++; d.parts > maxParts {
		d.tooLarge()
	}
	return d.err == nil
}
