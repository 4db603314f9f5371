package txblock

import (
	"context"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/tx"
)

// IDs numbers the ids that the server completes: orders/17-A. Each table counts for itself. A
// node takes numbers from the catalog in blocks, so they are unique in the cluster and survive a
// restart. The unused numbers of a block are skipped.
type IDs struct {
	catalog *catalog.Catalog
	block   string // names this node

	mu     sync.Mutex
	blocks map[catalog.OID]idBlock // by table; guarded by mu
}

// idBlock is a run of numbers: the next one and the first beyond.
type idBlock struct{ next, end uint64 }

// blockSize is how many numbers a node takes at once.
const blockSize = 1024

// NewIDs returns the numbers of the node that block names.
func NewIDs(c *catalog.Catalog, block string) *IDs {
	return &IDs{catalog: c, block: block, blocks: map[catalog.OID]idBlock{}}
}

// next returns a number for a new document of the table.
func (b *IDs) next(ctx context.Context, table catalog.OID) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.blocks[table]
	if k.next == k.end {
		first, err := b.catalog.NextIDs(ctx, table, blockSize)
		if err != nil {
			return 0, err
		}
		k = idBlock{first, first + blockSize}
	}
	n := k.next
	k.next++
	b.blocks[table] = k
	return n, nil
}

// Complete returns the id of a document whose client left part of it to the server. Ids of a table
// that the transaction x has made are numbered there, because no other session knows the table.
func (b *IDs) Complete(
	ctx context.Context, x *Transaction, t *catalog.Table, id string,
) (full string, err error) {
	if _, left := shardmap.CompleteID(t.Name, id, 0, b.block); !left {
		return id, nil
	}
	var n uint64
	if x != nil && t.IsTemporary() {
		n = tx.NextTemporaryID(x.Tx, t.OID)
	} else if x != nil && x.makes(t.OID) {
		n = x.takeID(t.OID)
	} else if n, err = b.next(ctx, t.OID); err != nil {
		return "", err
	}
	full, _ = shardmap.CompleteID(t.Name, id, n, b.block)
	return full, nil
}
