package workload

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Resharding runs clients of tables whose documents are split and made whole, get other ids, or are
// in ranges that are split, merged and moved meanwhile by the test. Each client knows what it must
// see.
type Resharding struct {
	r        *Run
	counters counters
	placed   placed
	ranges   ranges
}

// NewResharding creates the tables; size is the number of documents that get other ids.
func (r *Run) NewResharding(ctx context.Context, conn *pgx.Conn, size int) (*Resharding, error) {
	s := &Resharding{r: r, counters: counters{r: r}, placed: placed{r: r, size: size}, ranges: ranges{r}}
	for _, setUp := range []func(context.Context, *pgx.Conn) error{s.counters.setUp, s.placed.setUp, s.ranges.setUp} {
		if err := setUp(ctx, conn); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Start starts the clients, which work until ctx ends; wait waits for their end.
func (s *Resharding) Start(ctx context.Context) (wait func()) {
	s.r.start()
	var wg sync.WaitGroup
	for n := range hotClients {
		c := &counterClient{client: s.r.client(uint64(4000 + n)), h: &s.counters, n: n}
		wg.Go(func() { c.run(ctx) })
	}
	for n := range placedClients {
		c := &placedClient{client: s.r.client(uint64(5000 + n)), p: &s.placed, n: n, own: map[int][]string{}}
		wg.Go(func() { c.run(ctx) })
	}
	for n := range rangeClients {
		c := &rangeClient{client: s.r.client(uint64(6000 + n)), n: n}
		wg.Go(func() { c.run(ctx) })
	}
	return wg.Wait
}

// Verify reads the tables at the end, and returns what is wrong.
func (s *Resharding) Verify(ctx context.Context, conn *pgx.Conn) (report string, wrong []string, err error) {
	for _, verify := range []func(context.Context, *pgx.Conn) (string, []string, error){s.counters.verify,
		s.placed.verify, s.ranges.verify} {
		text, not, err := verify(ctx, conn)
		if err != nil {
			return report, wrong, err
		}
		report, wrong = report+text, append(wrong, not...)
	}
	return report, wrong, nil
}
