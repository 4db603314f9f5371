package taskserver

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/txn"
)

// cuts are the faults of the network in the middle of a commit. at is the node that was about to
// write into a fragment's log.
var cuts = []struct {
	name string
	do   func(x *trio, gateway, at uint32)
}{
	{"the coordinator is cut off", func(x *trio, gateway, _ uint32) { x.isolate(gateway) }},
	{"a leader is cut off", func(x *trio, _, at uint32) { x.isolate(at) }},
	{"the coordinator is not heard", func(x *trio, gateway, _ uint32) {
		x.others(gateway, func(self, other string) { x.nodes.Net.Cut(self, other) })
	}},
	{"the coordinator hears nothing", func(x *trio, gateway, _ uint32) {
		x.others(gateway, func(self, other string) { x.nodes.Net.Cut(other, self) })
	}},
	{"a leader is not heard", func(x *trio, _, at uint32) {
		x.others(at, func(self, other string) { x.nodes.Net.Cut(self, other) })
	}},
}

func (x *trio) others(node uint32, do func(self, other string)) {
	for n := uint32(1); n <= 3; n++ {
		if n != node {
			do(testcluster.Host(node), testcluster.Host(n))
		}
	}
}

func (x *trio) isolate(node uint32) {
	x.others(node, func(self, other string) { x.nodes.Net.Partition([]string{self}, []string{other}) })
}

// TestCommitIsCutAnywhere cuts the network at each step of commits over three fragments, whose
// leaders are three nodes. While the cut lasts, the other nodes agree on one outcome. No reader
// sees a part of the transaction, or anything older than what was acknowledged. The coordinator's
// final answer is that outcome.
//
// SHERD_CUTS sets how many commits there are (default 3); 30 are all steps with all cuts.
func TestCommitIsCutAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for leases and elections")
	}
	n := 3
	if s := os.Getenv("SHERD_CUTS"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		must(t, err)
	}
	x := openTrio(t)
	eventually.Holds(x.t, "the rows are there", func() bool {
		c := x.begin(1, txn.ReadCommitted)
		if _, err := c.exec(
			t.Context(), "INSERT INTO notes SELECT g, 'none' FROM generate_series(1, 30) g",
		); err != nil {
			c.tx.Rollback()
			return pgerr.Is(err, pgerr.UniqueViolation)
		}
		_, err := c.tx.Commit(t.Context(), 0)
		return err == nil
	})
	last := "none"
	for i := range n {
		r := &cutCommit{trio: x, gateway: uint32(1 + i%3), step: 1 + i%6, mark: fmt.Sprintf("m%d", i), before: last}
		last = r.run(i % len(cuts))
		if t.Failed() {
			return
		}
	}
}

// cutCommit is one commit in which the network is cut.
type cutCommit struct {
	*trio
	gateway uint32
	step    int
	mark    string // that the transaction writes into all rows
	before  string // what they had

	id    txn.ID
	at    atomic.Uint32 // where the cut was made
	acked atomic.Bool
	seen  bool // the transaction's rows were read
}

func (r *cutCommit) run(which int) (after string) {
	t, cut := r.t, cuts[which]
	name := fmt.Sprintf("%s at step %d of a commit of node %d", cut.name, r.step, r.gateway)
	r.ready()
	var c *client
	eventually.Holds(r.t, "the rows are written", func() bool {
		c = r.begin(r.gateway, txn.RepeatableRead)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := c.exec(ctx, "UPDATE notes SET t = '"+r.mark+"'")
		if err != nil {
			c.tx.Rollback()
		}
		return err == nil
	})
	r.id = c.tx.ID()
	var steps atomic.Int32
	made := make(chan struct{})
	r.onFault(func(node uint32, point string) {
		if point == "propose" && int(steps.Add(1)) == r.step {
			r.at.Store(node)
			cut.do(r.trio, r.gateway, node)
			close(made)
		}
	})
	done := make(chan error, 1)
	go func() {
		_, err := c.tx.Commit(context.Background(), 0)
		r.acked.Store(err == nil)
		done <- err
	}()
	<-made
	r.onFault(nil)
	r.watch(name)
	r.nodes.Net.Heal()
	err := <-done
	switch unknown := pgerr.Is(err, pgerr.StatementCompletionUnknown); {
	case err == nil && !r.seen:
		eventually.Holds(r.t, name+": the acknowledged commit is seen", func() bool {
			r.read(name, r.witness())
			return r.seen || t.Failed()
		})
	case err != nil && !unknown && r.seen:
		t.Errorf("%s: it is said to have failed, %v, and is there", name, err)
	}
	for node := uint32(1); node <= 3; node++ {
		eventually.Holds(r.t, name+": the nodes agree", func() bool { return r.read(name, node) })
	}
	want := txn.Aborted
	if r.seen {
		want = txn.Committed
	}
	eventually.Holds(r.t, name+": the outcome is known", func() bool {
		out, _, err := r.hosts[r.witness()-1].Client.Outcome(t.Context(), catalog.PostgresDB, r.id)
		if err == nil && (out == txn.Committed || out == txn.Aborted) && out != want {
			t.Errorf("%s: the outcome is %s, the rows say %s", name, out, want)
		}
		return err == nil && out == want || t.Failed()
	})
	t.Logf("%s, node %d: %s, the coordinator said %v", name, r.at.Load(), want, err)
	if r.seen {
		return r.mark
	}
	return r.before
}

// witness is a node that is not cut off.
func (r *cutCommit) witness() uint32 {
	n := uint32(1)
	for n == r.gateway || n == r.at.Load() {
		n++
	}
	return n
}

// watch waits for an outcome while the cut lasts, and then makes the nodes that are cut off read.
func (r *cutCommit) watch(name string) {
	r.t.Helper()
	eventually.Holds(r.t, name+": the others go on", func() bool { return r.read(name, r.witness()) || r.t.Failed() })
	r.read(name, r.gateway) // may well fail
	if at := r.at.Load(); at != r.gateway {
		r.read(name, at)
	}
}

// read reads all rows at a node, and reports whether it could. It must see all of the transaction
// or nothing, and nothing older than what was acknowledged, or read, before.
func (r *cutCommit) read(name string, node uint32) bool {
	r.t.Helper()
	must := r.seen || r.acked.Load()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Second)
	defer cancel()
	c := r.begin(node, txn.RepeatableRead)
	defer c.tx.Rollback()
	rows, err := c.exec(ctx, "SELECT count(*), t FROM notes GROUP BY t")
	if err != nil {
		return false
	}
	switch {
	case len(rows) != 1 || rows[0] != "30|"+r.mark && rows[0] != "30|"+r.before:
		r.t.Errorf("%s: node %d reads %v", name, node, rows)
	case rows[0] == "30|"+r.mark:
		r.seen = true
	case must:
		r.t.Errorf("%s: node %d reads what was before, though the commit was known", name, node)
	}
	return true
}
