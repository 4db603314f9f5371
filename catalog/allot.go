package catalog

import (
	"context"
	"fmt"

	"github.com/sherddb/sherd/internal/pgerr"
)

// oidBlock is how many OIDs a node takes at once.
const oidBlock = 64

// numberBlock is a run of numbers taken in advance: the next one to use and the first one beyond
// the run.
type numberBlock struct {
	next, end uint64
}

// NewOID returns an OID that was never used. Storage ids of tables are numbers of the same kind.
func (c *Catalog) NewOID(ctx context.Context) (OID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.oids.next == c.oids.end {
		first, err := c.allot(ctx, allotment{oids: oidBlock})
		if err != nil {
			return 0, err
		}
		c.oids = numberBlock{first.oid, first.oid + oidBlock}
	}
	oid := OID(c.oids.next)
	c.oids.next++
	return oid, nil
}

// NewFragmentIDs returns n fragment numbers that were never used.
func (c *Catalog) NewFragmentIDs(ctx context.Context, n int) ([]uint32, error) {
	first, err := c.allot(ctx, allotment{fragments: uint32(n)})
	if err != nil {
		return nil, err
	}
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(first.fragment) + uint32(i)
	}
	return ids, nil
}

// NewNodeID returns a node number that was never used.
func (c *Catalog) NewNodeID(ctx context.Context) (uint32, error) {
	first, err := c.allot(ctx, allotment{nodes: 1})
	return uint32(first.node), err
}

// NewJobID returns a job number that was never used.
func (c *Catalog) NewJobID(ctx context.Context) (uint64, error) { return c.NewJobIDs(ctx, 1) }

// NewJobIDs returns the first of n consecutive job numbers that were never used.
func (c *Catalog) NewJobIDs(ctx context.Context, n int) (first uint64, err error) {
	a, err := c.allot(ctx, allotment{jobs: uint32(n)})
	return a.job, err
}

// NextIDs takes n numbers, from 1, for ids of a table's documents that the server completes
// (orders/17-A), and returns the first. Numbers are unique per table in the cluster and never
// reused. Error: 42P01 for a table that does not exist.
func (c *Catalog) NextIDs(ctx context.Context, table OID, n uint64) (uint64, error) {
	a, err := c.proposeAllotment(ctx, allotment{table: table, ids: n})
	return a.firstID, err
}

func (c *Catalog) allot(ctx context.Context, want allotment) (counters, error) {
	a, err := c.proposeAllotment(ctx, want)
	return a.first, err
}

// proposeAllotment takes numbers. If ctx has ended, it does not matter whether they were taken,
// because they are not used.
func (c *Catalog) proposeAllotment(ctx context.Context, want allotment) (applied, error) {
	data, err := encodeAllotment(want)
	if err != nil {
		return applied{}, fmt.Errorf("catalog: encode allotment: %w", err)
	}
	a, err := c.propose(ctx, data)
	if err != nil && ctx.Err() != nil {
		err = pgerr.Cancelled(ctx)
	}
	return a, err
}
