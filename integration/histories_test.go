package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/integration/workload"
)

// TestHistories has clients append to lists and read them, one, several and all of them, at random, while the process is killed; what they saw
// must be what the isolation level promises. Keys lie in all fragments. It runs with 1, 3 and 16 fragments.
//
// Beside them others move money between accounts, and the total of a bank must be what it was in every snapshot. The last act of each
// history is sherd.check().
//
// SHERD_HISTORY sets how long each of the histories goes on (default 4 s).
func TestHistories(t *testing.T) {
	length := historyLength(t, 4*time.Second)
	for _, fragments := range []int{1, 3, 16} {
		t.Run(fmt.Sprintf("%d fragments", fragments), func(t *testing.T) {
			h := newHistoryRun(t, fragments)
			if err := h.SetUp(t.Context(), Connect(t, h.process.URL)); err != nil {
				t.Fatal(err)
			}
			h.suffer(length, leastCommits)
			report, wrong, err := h.Verify(t.Context(), Connect(t, h.process.URL))
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range wrong {
				t.Error(w)
			}
			t.Logf("%v; %d kills", report, h.kills)
			if report.Committed < leastCommits {
				t.Errorf("only %d transactions were committed", report.Committed)
			}
		})
	}
}

// leastOperations is how many operations a round of TestLinearizable has at least.
const leastOperations = 200

// TestLinearizable has clients read, write and compare-and-set single documents while the process is killed: each document behaves as one that
// is changed at one instant between a statement's start and its answer.
//
// It goes on in rounds of two kills with documents of their own, each of which is checked by itself: for SHERD_HISTORY, or for one round.
func TestLinearizable(t *testing.T) {
	h := newHistoryRun(t, 3)
	all := 0
	end := time.Now().Add(historyLength(t, 0))
	for round := 0; round == 0 || time.Now().Before(end); round++ {
		conn := Connect(t, h.process.URL)
		g, err := h.NewRegisters(t.Context(), conn, round)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		wait := g.Start(ctx)
		for n := range 2 {
			time.Sleep(time.Duration(500+h.rnd.IntN(1000)) * time.Millisecond) // the random moment of the kill
			awaitWork(leastOperations/2*(n+1), g.Operations)
			h.kill()
		}
		cancel()
		wait()
		operations, wrong := g.Verify()
		if wrong != "" {
			t.Error(wrong)
		}
		if operations < leastOperations {
			t.Errorf("only %d operations", operations)
		}
		all += operations
	}
	for _, wrong := range failedChecks(t, Connect(t, h.process.URL)) {
		t.Error(wrong)
	}
	t.Logf("%d operations, %d kills", all, h.kills)
}

func historyLength(t *testing.T, length time.Duration) time.Duration {
	t.Helper()
	if s := os.Getenv("SHERD_HISTORY"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("SHERD_HISTORY: %v", err)
		}
		return d
	}
	return length
}

// historyRun is a history of one process that is killed.
type historyRun struct {
	workload.Run
	t         *testing.T
	rnd       *rand.Rand
	data      string
	fragments int
	process   *Process
	url       atomic.Pointer[string]
	kills     int
}

func newHistoryRun(t *testing.T, fragments int) *historyRun {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	h := &historyRun{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), data: filepath.Join(t.TempDir(), "data"), fragments: fragments}
	h.Run.URL = func() string { return *h.url.Load() }
	h.Run.Errorf, h.Run.Seed, h.Run.Timeout = t.Errorf, seed, readyTimeout
	h.start()
	return h
}

func (h *historyRun) start() {
	p, err := Start(binary, h.data, "--fragments", strconv.Itoa(h.fragments))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(p.Kill)
	h.process = p
	h.url.Store(&p.URL)
}

func (h *historyRun) kill() {
	h.process.Kill()
	h.start()
	h.kills++
}

// leastCommits is how many transactions a history has at least.
const leastCommits = 50

// awaitWork waits until clients have done so much, however slow the machine is. If they never do, the
// test fails by what it counts itself.
func awaitWork(least int, done func() int) {
	for end := time.Now().Add(2 * readyTimeout); done() < least && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

// suffer lets the clients work, until they have committed so many transactions at least, and kills the process now and then.
func (h *historyRun) suffer(length time.Duration, commits int) {
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	wait := h.Start(ctx)
	for end := time.Now().Add(length); time.Now().Before(end); {
		time.Sleep(min(length/2, time.Duration(1000+h.rnd.IntN(2000))*time.Millisecond)) // the random moment of the kill
		h.kill()
	}
	awaitWork(commits, h.Committed)
	cancel()
	wait()
}
