package session

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// sequenceSize is the size of a sequence in PostgreSQL: a page.
const sequenceSize = 8192

// RelationSize implements builtin.SizeInfo.
func (i info) RelationSize(oid uint32) (bytes int64, ok bool, err error) {
	names := i.names()
	if t := names.View.Table(oid); t != nil && t.Database == i.database {
		if t.Sequence != nil {
			return sequenceSize, true, nil
		}
		_, bytes, err = i.tableSize(names.Database, t.StorageID)
		return bytes, true, err
	}
	if t, _ := names.View.Index(oid); t != nil && t.Database == i.database {
		return 0, true, nil // counted with the rows
	}
	return 0, pgcatalog.RelationByOID(oid) != nil, nil
}

// IndexesSize implements builtin.SizeInfo. Indexes are counted with the rows.
func (i info) IndexesSize(oid uint32) (bytes int64, ok bool, err error) {
	t := i.block.View().Table(oid)
	return 0, t != nil && t.Database == i.database || pgcatalog.RelationByOID(oid) != nil, nil
}

// DatabaseSize implements builtin.SizeInfo.
func (i info) DatabaseSize(oid uint32) (bytes int64, ok bool, err error) {
	if oid == 0 {
		for d := range i.block.View().Databases() {
			_, n, err := i.tableSize(d, 0)
			if err != nil {
				return 0, true, err
			}
			bytes += n
		}
		return bytes, true, nil
	}
	d := i.block.View().Database(oid)
	if d == nil {
		return 0, false, nil
	}
	_, bytes, err = i.tableSize(d, 0)
	return bytes, true, err
}

// tableSize sums the statistics of a storage id; 0 means all ids.
func (i info) tableSize(d *catalog.Database, storageID uint32) (docs, bytes int64, err error) {
	if size, ok := i.txEnv.Temporary.Size(storageID); ok {
		return size.Rows, size.Bytes, nil
	}
	stats, err := i.node.Fragments.TableStats(i.statement(), d, storageID)
	for _, x := range stats {
		docs += x.Documents
		bytes += x.Bytes
	}
	return docs, bytes, err
}
