package fault

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration/workload"
)

// Resharder asks nodes, any of them, for what reshards the tables of workload.Resharding: it splits hot documents and makes them whole, gives documents other ids
// by other policies, splits, merges and moves segments, and says on which nodes fragments may be.
type Resharder struct {
	c       *Cluster
	tables  *workload.Resharding
	errorf  func(format string, args ...any)
	zones   bool
	wg      sync.WaitGroup
	cancel  context.CancelFunc
	stopped context.Context

	mu      sync.Mutex
	did     map[string]int // guarded by mu
	refused map[string]int // by what was asked for and what was answered; guarded by mu
}

// StartResharder begins; Stop ends it. With zones there are more nodes than replicas, labelled spot=1 and so on.
func StartResharder(ctx context.Context, c *Cluster, tables *workload.Resharding, seed uint64, zones bool, errorf func(string, ...any)) *Resharder {
	r := &Resharder{c: c, tables: tables, errorf: errorf, zones: zones, did: map[string]int{}, refused: map[string]int{}}
	r.stopped, r.cancel = context.WithCancel(ctx)
	works := []func(*operator){(*operator).counters, (*operator).segments, (*operator).placements}
	if zones {
		works = append(works, (*operator).zones)
	}
	for i, work := range works {
		o := &operator{r: r, rnd: rand.New(rand.NewPCG(seed, uint64(90+i)))}
		r.wg.Go(func() {
			for r.stopped.Err() == nil {
				work(o)
			}
			o.close()
		})
	}
	return r
}

// Stop ends it after what it is at, and tells what it did and what nodes have refused.
func (r *Resharder) Stop() string {
	r.cancel()
	r.wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(r.did)) {
		fmt.Fprintf(&b, "%s: %d; ", what, r.did[what])
	}
	for _, what := range slices.Sorted(maps.Keys(r.refused)) {
		fmt.Fprintf(&b, "\n%d× %s", r.refused[what], what)
	}
	return b.String()
}

// operator asks for one kind of thing.
type operator struct {
	r    *Resharder
	rnd  *rand.Rand
	conn *pgx.Conn
}

// passing are the errors that somebody who asks may meet while nodes come and go, or others ask too.
var passing = map[string]bool{
	"": true, "40001": true, "40003": true, "40P01": true, "57P01": true, "57P02": true, "57P03": true, "57014": true, "08006": true, "55P03": true, "55006": true, "53300": true, "72000": true,
}

// do runs a statement at some node. Errors that are neither passing nor among those expected are held against the database.
func (o *operator) do(what, text string, expected ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.r.stopped), recovery)
	defer cancel()
	err := o.connect(ctx)
	if err == nil {
		_, err = o.conn.Exec(ctx, text)
	}
	return o.note(what, text, err, expected)
}

func (o *operator) note(what, text string, err error, expected []string) error {
	code := workload.SQLState(err)
	o.r.mu.Lock()
	if err == nil {
		o.r.did[what]++
	} else {
		said, _, _ := strings.Cut(describe(err), " (detail")
		o.r.refused[what+": "+said]++
	}
	o.r.mu.Unlock()
	// What a statement did before it was run again is not in its own way.
	if err != nil && (!passing[code] && !slices.Contains(expected, code) || strings.Contains(err.Error(), "in this session")) {
		o.r.errorf("%s: %s", text, describe(err))
	}
	if err != nil && code == "" {
		o.close()
	}
	return err
}

// connect has a connection to some node, and to another one now and then.
func (o *operator) connect(ctx context.Context) error {
	if o.conn != nil && !o.conn.IsClosed() && o.rnd.IntN(5) > 0 {
		return nil
	}
	o.close()
	dial, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(dial, o.r.c.AnyURL())
	if err == nil {
		o.conn = conn
	}
	return err
}

func (o *operator) close() {
	if o.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		o.conn.Close(ctx)
		o.conn = nil
	}
}

// column gives a column of texts.
func (o *operator) column(text string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.r.stopped), recovery)
	defer cancel()
	err := o.connect(ctx)
	if err != nil {
		return nil, o.note("look", text, err, nil)
	}
	rows, err := o.conn.Query(ctx, text)
	if err != nil {
		return nil, o.note("look", text, err, nil)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return all, o.note("look", text, err, nil)
}

// one gives one text of a column, "" where there is none.
func (o *operator) one(text string) string {
	all, err := o.column(text)
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[o.rnd.IntN(len(all))]
}

func (o *operator) rest(most time.Duration) {
	select {
	case <-time.After(time.Duration(o.rnd.Int64N(int64(most)))):
	case <-o.r.stopped.Done():
	}
}

// counters splits a document, or makes it whole.
func (o *operator) counters() {
	id := workload.HotID(o.rnd.IntN(workload.HotDocuments))
	if o.rnd.IntN(5) < 3 {
		_ = o.do("hot_split", fmt.Sprintf("SELECT sherd.hot_split('hot', '%s', %d)", id, 2+o.rnd.IntN(15)), "42710")
	} else {
		_ = o.do("hot_join", fmt.Sprintf("SELECT sherd.hot_join('hot', '%s')", id), "42704")
	}
	o.rest(700 * time.Millisecond)
}

// segments of the table events.
func (o *operator) segments() {
	defer o.rest(900 * time.Millisecond)
	lowers, err := o.column("SELECT lower FROM sherd.segments WHERE collection = 'events'::regclass AND lower IS NOT NULL")
	if err != nil {
		return
	}
	key := fmt.Sprint(o.rnd.IntN(workload.RangeDevices))
	if o.rnd.IntN(3) == 0 {
		key += fmt.Sprintf("/%d", o.rnd.IntN(workload.RangeTimes))
	}
	switch n := o.rnd.IntN(10); {
	case n < 4 && len(lowers) < 12:
		_ = o.do("split_segment", fmt.Sprintf("SELECT sherd.split_segment('events', '%s')", key), segmentRefusals...)
	case n < 6 && len(lowers) > 0:
		_ = o.do("merge_segments", fmt.Sprintf("SELECT sherd.merge_segments('events', '%s')", lowers[o.rnd.IntN(len(lowers))]), segmentRefusals...)
	default:
		if target := o.one("SELECT fragment FROM sherd.fragments"); target != "" {
			_ = o.do("move_segment", fmt.Sprintf("SELECT sherd.move_segment('events', '%s', '%s')", key, target), segmentRefusals...)
		}
	}
}

// segmentRefusals: what begins there begins there already, or does no more.
var segmentRefusals = []string{"42710", "42704", "55000", "22023"}

// zones has a fragment leave a node, or be anywhere.
func (o *operator) zones() {
	if f := o.one("SELECT fragment FROM sherd.fragments"); f != "" {
		rule := ""
		if o.rnd.IntN(3) > 0 {
			rule = fmt.Sprintf("spot!=%d", 1+o.rnd.IntN(len(o.r.c.Nodes())))
		}
		_ = o.do("set_fragment_labels", fmt.Sprintf("SELECT sherd.set_fragment_labels('%s', '%s')", f, rule))
	}
	o.rest(15 * time.Second)
}
