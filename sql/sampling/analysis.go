package sampling

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tablestats"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn/locks"
)

// Analysis analyzes tables in a transaction, which stores what it finds.
type Analysis struct {
	Tx *tx.Tx
	// Executor returns an executor for a table that is locked now.
	Executor func(ctx context.Context) stmt.Executor
	// Totals returns what the fragments of a database have of a storage id.
	Totals func(ctx context.Context, d *catalog.Database, storageID uint32) ([]tablestats.Total, error)
	Target int // of columns that have no target of their own
	// NoWait makes Table return locks.ErrNotAvailable if another transaction has locked the table.
	NoWait    bool
	Automatic bool // no client asks for it
	// Missed lists the statistics objects that Table has not computed, because it has not read their
	// columns.
	Missed []*catalog.ExtendedStatistics
}

// Table analyzes the named columns of a table; nil: all of it. The statistics come into force when the
// transaction commits. They are nil if there is nothing to do: the table is gone, or the version of
// the cluster does not allow statistics.
func (a *Analysis) Table(ctx context.Context, table catalog.OID, columns []string) (*statistics.Table, error) {
	t := a.Tx.View().Table(table)
	if t == nil || !a.Tx.View().Knows(catalog.StatisticsSince) {
		return nil, nil
	}
	if err := a.Tx.LockTable(ctx, table, locks.ShareUpdateExclusive, a.NoWait); err != nil {
		return nil, err
	}
	if t = a.Tx.View().Table(table); t == nil {
		return nil, nil
	}
	only, err := Columns(t, columns)
	if err != nil {
		return nil, err
	}
	a.Tx.Used = true
	s := &Sampler{
		Executor: a.Executor(ctx), Tx: a.Tx, Target: a.Target, Now: time.Now(), Totals: a.Totals,
		Rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
	}
	found, err := s.Table(ctx, t, only)
	if err != nil {
		return nil, err
	}
	a.Missed = s.Missed
	run := tablestats.Run{Found: found, Part: only != nil, Automatic: a.Automatic}
	return found, a.Tx.ChangeSchema(ctx, func(view *catalog.View, c *catalog.Change) error {
		now := view.Table(table)
		if now == nil {
			return nil
		}
		return run.Merged(view, now).Put(c)
	})
}

// Columns returns the numbers of the named columns of a table; nil if none is named.
func Columns(t *catalog.Table, names []string) (out []int16, err error) {
	seen := map[int16]bool{}
	for _, name := range names {
		c := t.Column(name)
		switch {
		case c == nil:
			return nil, pgerr.New(pgerr.UndefinedColumn, `column "%s" of relation "%s" does not exist`, name, t.Name)
		case seen[c.AttNum]:
			return nil, pgerr.New(pgerr.DuplicateColumn,
				`column "%s" of relation "%s" appears more than once`, name, t.Name)
		}
		seen[c.AttNum] = true
		out = append(out, c.AttNum)
	}
	return out, nil
}
