package storage

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// TestMovesUnderLoad moves ranges back and forth between two fragments while clients work on them,
// and checks that nothing was lost, duplicated, or seen otherwise than it was. The driver fails at
// any step: it repeats the step, takes it late, abandons and undoes the move, or everything is
// crashed and opened again. A small catalog has the owner, as the real one does.
func TestMovesUnderLoad(t *testing.T) {
	for seed := range int64(2) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) { movesUnderLoad(t, seed) })
	}
}

const (
	loadKeys   = 12
	loadRanges = 3
)

// secondAdded says that fragment 2 owned nothing at first: stale maps lead to it before anything
// has moved.
func secondAdded(c *Config) { c.Added = c.Fragment == 2 }

func loadRange(i int) []BucketRange {
	return []BucketRange{{Lo: uint32(100 * i), Hi: uint32(100*i + 100)}}
}

func loadKey(k int) []byte { return movedKey(uint32(100*(k%loadRanges)+k), "k") }

// movePlan is the catalog's: the owner of each range, and the moves that were aborted.
type movePlan struct {
	mu    sync.Mutex
	owner [loadRanges]int
	state map[uint64]string // running, aborted, flipped
	next  uint64
}

func (p *movePlan) begin() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	p.state[p.next] = "running"
	return p.next
}

// set is one conditional entry of the catalog.
func (p *movePlan) set(move uint64, state string, then func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state[move] != "running" {
		return p.state[move] == state
	}
	p.state[move] = state
	if then != nil {
		then()
	}
	return true
}

func (p *movePlan) ownerOf(k int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owner[k%loadRanges]
}

// load is the test's state: what is open, and what was seen.
type load struct {
	t    *testing.T
	plan *movePlan
	m    *mover

	mu      sync.RWMutex // held for writing while everything is opened again
	wrote   sync.Mutex
	acked   [loadKeys][]modelVersion // guarded by wrote
	maybe   [loadKeys][]string       // without an answer; guarded by wrote
	seen    []seenRead               // guarded by wrote
	commits int                      // guarded by wrote
	refused map[string]int           // guarded by wrote
}

type seenRead struct {
	k     int
	T     txn.Timestamp
	value string
}

func movesUnderLoad(t *testing.T, seed int64) {
	rnd := rand.New(rand.NewSource(seed))
	l := &load{t: t, plan: &movePlan{state: map[uint64]string{}}, refused: map[string]int{}}
	l.m = openMover(t, small, secondAdded)
	for k := range loadKeys {
		ts := commitRow(t, l.m.c.rs[0], loadKey(k), "0")
		l.acked[k] = []modelVersion{{ts, "0"}}
	}
	stop, done := make(chan struct{}), sync.WaitGroup{}
	for c := range 4 {
		done.Add(1)
		go func() {
			defer done.Done()
			own := rand.New(rand.NewSource(seed*100 + int64(c)))
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					l.client(own, fmt.Sprintf("%d.%d", c, n))
				}
			}
		}()
	}
	const leastMoves, leastCommits = 5, 50
	moves, end := 0, time.Now().Add(testTimeout)
	few := func() bool {
		l.wrote.Lock()
		defer l.wrote.Unlock()
		return moves < leastMoves || l.commits < leastCommits
	}
	for step := 0; step < 30 || few() && time.Now().Before(end); step++ {
		// more of them where the machine is slow
		if l.move(rnd) {
			moves++
		}
		if step%10 == 9 {
			l.crash()
		}
	}
	close(stop)
	done.Wait()
	l.verify()
	t.Logf("%d moves, %d commits, %d reads, refused %v", moves, l.commits, len(l.seen), l.refused)
	if few() {
		t.Errorf("only %d moves and %d commits", moves, l.commits)
	}
}

// client reads, or changes one row and remembers what it was answered.
func (l *load) client(rnd *rand.Rand, value string) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	// a crash waits for the clients, and a fence for the crash
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	k := rnd.Intn(loadKeys)
	route := func(k int) *Replica { // a stale map, sometimes
		owner := l.plan.ownerOf(k)
		if rnd.Intn(6) == 0 {
			owner = 1 - owner
		}
		return l.m.c.rs[owner]
	}
	ranges := []BucketRange{{Lo: keyspace.BucketOf(loadKey(k)), Hi: keyspace.BucketOf(loadKey(k)) + 1}}
	if rnd.Intn(2) == 0 {
		l.read(ctx, route(k), k, ranges, rnd)
		return
	}
	keys := []int{k}
	if other := rnd.Intn(loadKeys); other != k && rnd.Intn(2) == 0 {
		keys = []int{min(k, other), max(k, other)} // in one order: no deadlocks
	}
	l.write(ctx, keys, route, value, rnd)
}

// write changes some rows in one transaction, over two fragments where they are in two.
func (l *load) write(ctx context.Context, keys []int, route func(int) *Replica, value string, rnd *rand.Rand) {
	id := txn.NewID()
	parts := map[*Replica]*Tx{}
	var list []txn.Participant
	for _, k := range keys {
		r := route(k)
		if parts[r] == nil {
			parts[r] = r.Tx(id)
			list = append(list, parts[r])
		}
		err := parts[r].LockNewest(ctx, loadKey(k))
		if err == nil {
			err = parts[r].Put(loadKey(k), []byte(value))
		}
		if err != nil {
			txn.Rollback(list)
			l.refuse(err)
			return
		}
	}
	if rnd.Intn(4) == 0 {
		// buffered while the range moves, sometimes
		time.Sleep(time.Duration(rnd.Intn(3)) * time.Millisecond)
	}
	ts, err := l.m.c.co.Commit(ctx, id, 0, list)
	l.wrote.Lock()
	defer l.wrote.Unlock()
	if err != nil {
		l.refused[err.Error()]++
	} else {
		l.commits++
	}
	for _, k := range keys {
		if err == nil {
			l.acked[k] = append(l.acked[k], modelVersion{ts, value})
		} else if pgerr.Is(err, pgerr.StatementCompletionUnknown) {
			l.maybe[k] = append(l.maybe[k], value)
		}
	}
}

func (l *load) refuse(err error) {
	l.wrote.Lock()
	defer l.wrote.Unlock()
	l.refused[err.Error()]++
}

// read reads at the present, or at a time that was read at before, wherever the row was then.
func (l *load) read(ctx context.Context, r *Replica, k int, ranges []BucketRange, rnd *rand.Rand) {
	var T txn.Timestamp
	l.wrote.Lock()
	if len(l.seen) > 0 && rnd.Intn(3) == 0 {
		T = l.seen[rnd.Intn(len(l.seen))].T
	}
	before := l.acked[k][len(l.acked[k])-1]
	for _, v := range l.acked[k] {
		if v.ts > before.ts {
			before = v
		}
	}
	l.wrote.Unlock()
	current := T == 0
	var err error
	if current {
		T, err = r.SnapshotOf(ctx, ranges)
	}
	var v *View
	if err == nil {
		v, err = r.Tx(txn.ID{}).ViewOf(ctx, T, ranges)
	}
	if err != nil {
		l.refuse(err)
		return
	}
	defer v.Close()
	b, err := v.Get(ctx, loadKey(k))
	if err != nil {
		l.refuse(err)
		return
	}
	if current && T < before.ts {
		l.t.Errorf("row %d: a current timestamp of %s after a commit at %s", k, T, before.ts)
	}
	found := ""
	err = v.Scan(ctx, keyspace.BucketSpan(movedTable, ranges[0].Lo, ranges[0].Hi), rnd.Intn(2) == 0,
		func(_, value []byte) error {
			found += string(value)
			return nil
		})
	if err != nil || found != string(b) {
		l.t.Errorf("row %d at %s is %q by key and %q in a scan, %v", k, T, b, found, err)
	}
	l.wrote.Lock()
	defer l.wrote.Unlock()
	l.seen = append(l.seen, seenRead{k, T, string(b)})
}

// move takes the steps of one move, with failures; it reports whether the move has flipped.
func (l *load) move(rnd *rand.Rand) bool {
	l.mu.RLock()
	defer func() { l.mu.RUnlock() }()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	i := rnd.Intn(loadRanges)
	ranges, n := loadRange(i), l.plan.begin()
	source := l.plan.ownerOf(i)
	from, to := l.m.c.rs[source], l.m.c.rs[1-source]
	crash := func() { // at any arrow; the next driver goes on
		if rnd.Intn(40) != 0 {
			return
		}
		l.mu.RUnlock()
		l.crash()
		l.mu.RLock()
		from, to = l.m.c.rs[source], l.m.c.rs[1-source]
	}
	again := func(step func() error) error {
		// a step is taken once, twice at once, or again by a late driver
		switch rnd.Intn(4) {
		case 0:
			other := make(chan error, 1)
			go func() { other <- step() }()
			err := step()
			if second := <-other; err != nil {
				return second
			}
			return err
		case 1:
			_ = step()
		}
		return step()
	}
	var both sync.Mutex // held by a step that is taken twice, for its result
	ahead := rnd.Intn(4)
	copyRows := func(req ReadRequest) (res ReadResult, err error) {
		err = again(func() error {
			put, flush := func(batch []Version) error { return to.Moves.Ingest(ctx, n, batch) },
				func() error { return nil }
			if ahead > 0 {
				q := to.Moves.NewIngestQueue(n)
				defer q.Close()
				put, flush = func(batch []Version) error { return q.Put(ctx, batch, ahead) }, q.Flush
			}
			got, err := from.Moves.ReadVersions(ctx, req, put)
			if err == nil {
				err = flush()
			}
			both.Lock()
			defer both.Unlock()
			if err == nil && (res.T == 0 || got.T < res.T) {
				res.T = got.T
			}
			res.Watermark = max(res.Watermark, got.Watermark)
			return err
		})
		return res, err
	}
	var first, second ReadResult
	var F txn.Timestamp
	at := rnd.Intn(12)        // the step at which it stops; mostly none
	cut := rnd.Intn(3) > 0    // fence and last read in one
	atOnce := rnd.Intn(3) > 0 // both are told at once, and act upon it before the log has it
	last := ReadRequest{Ranges: ranges, Move: n}
	steps := []func() error{
		func() error { _, err := to.Moves.BeginIngest(ctx, n, ranges, from.Watermark()); return err },
		func() (err error) { first, err = copyRows(ReadRequest{Ranges: ranges}); return err },
		func() (err error) { second, err = copyRows(ReadRequest{Ranges: ranges, Since: first.T}); return err },
		func() error {
			last.Since = second.T
			return again(func() (err error) {
				var res ReadResult
				if cut {
					res, err = from.Moves.Cut(ctx, last, time.Second,
						func(batch []Version) error { return to.Moves.Ingest(ctx, n, batch) })
				} else {
					res.T, err = from.Moves.Fence(ctx, n, ranges, time.Second)
				}
				both.Lock()
				defer both.Unlock()
				if err == nil {
					F = res.T
				}
				return err
			})
		},
		func() error {
			if cut {
				return to.Moves.PassBy(F)
			}
			final := last
			final.Final = true
			_, err := from.Moves.ReadVersions(ctx, final,
				func(batch []Version) error { return to.Moves.Ingest(ctx, n, batch) })
			return err
		},
	}
	var err error
	for s, step := range steps {
		if crash(); s == at {
			err = errors.New("the driver has died")
			break
		}
		if s == 0 || s == 4 {
			err = again(step)
		} else {
			err = step()
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		if !l.plan.set(n, "aborted", nil) {
			l.t.Errorf("move %d failed and has flipped", n)
		}
		for _, undo := range []func() error{
			func() error { return from.Moves.Unfence(ctx, n, ranges) },
			func() error { return to.Moves.Abandon(ctx, n, ranges) },
		} {
			crash()
			if err := again(undo); err != nil {
				l.t.Errorf("move %d is not undone: %v", n, err)
			}
		}
		l.refuse(fmt.Errorf("move: %w", err))
		return false
	}
	crash()
	l.plan.set(n, "flipped", func() { l.plan.owner[i] = 1 - source })
	since := max(first.Watermark, second.Watermark)
	finish := []func() error{
		func() error { return to.Moves.Own(ctx, n, ranges, F, since) },
		func() error { return from.Moves.MoveAway(ctx, n, ranges) },
		func() error { return from.Moves.Clean(ctx, n, ranges) },
	}
	if atOnce {
		finish[0] = func() error {
			gone := make(chan error, 1)
			go func() { gone <- from.Moves.MoveAway(ctx, n, ranges) }()
			return errors.Join(to.Moves.OwnIngested(ctx, n, ranges, F, since), <-gone)
		}
	}
	for _, step := range finish {
		crash()
		if err := again(step); err != nil {
			l.t.Errorf("move %d has flipped and is not completed: %v", n, err)
		}
	}
	for name, err := range map[string]error{ // late steps of another driver
		"unfence": from.Moves.Unfence(ctx, n, ranges), "abandon": to.Moves.Abandon(ctx, n, ranges),
		"carry": to.Moves.Ingest(ctx, n, []Version{{Key: loadKey(i), At: 7, Value: []byte("late")}}),
	} {
		if !errors.Is(err, ErrMoveVoid) {
			l.t.Errorf("a late %s of move %d: %v", name, n, err)
		}
	}
	return true
}

// crash opens everything again as a kill would leave it.
func (l *load) crash() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.m.c = l.m.c.crash(withGlobals, small, secondAdded)
}

// verify holds what was seen against what was acknowledged.
func (l *load) verify() {
	t := l.t
	for k := range loadKeys {
		slices.SortFunc(l.acked[k], func(a, b modelVersion) int { return int(int64(a.ts) - int64(b.ts)) })
		r := l.m.c.rs[l.plan.ownerOf(k)]
		if got := readRow(t, r, loadKey(k)); got != l.acked[k][len(l.acked[k])-1].value &&
			!slices.Contains(l.maybe[k], got) {
			t.Errorf("row %d is %q, acknowledged last was %q", k, got, l.acked[k][len(l.acked[k])-1].value)
		}
	}
	for _, s := range l.seen {
		if want := (model{0: l.acked[s.k]}).at(0, s.T); s.value != want && !slices.Contains(l.maybe[s.k], s.value) {
			t.Errorf("row %d was %q at %s, and %q was acknowledged", s.k, s.value, s.T, want)
		}
	}
	l.m.count(l.m.c.rs[0])
	l.m.count(l.m.c.rs[1])
}
