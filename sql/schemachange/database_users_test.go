package schemachange

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/txn"
)

// TestDisconnect waits for the users of a database, or ends them.
func TestDisconnect(t *testing.T) {
	c, err := catalog.Open(catalog.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Bootstrap(t.Context(), catalog.BootstrapOptions{
		ClusterID: "test", Fragments: 1, Node: catalog.Node{ID: 1, Name: "n", Block: "A"},
	}); err != nil {
		t.Fatal(err)
	}
	fragment := c.View().Database(catalog.PostgresDB).Fragments[0].ID
	for _, test := range []struct {
		name     string
		leaves   time.Duration // the session of this node leaves after it; 0: it is not there
		other    bool          // another node has a session, and does not answer signals
		silent   bool          // another node does not answer
		prepared int
		missing  bool // the fragment does not answer
		lost     bool // and never will
		force    bool
		want     int
		code     string
		within   time.Duration
	}{
		{name: "nobody"},
		{name: "a session that leaves", leaves: time.Second, within: time.Second},
		{name: "a session that stays", leaves: time.Hour, want: 1, within: leavingTimeout},
		{name: "a session that is ended", leaves: time.Hour, force: true},
		{name: "a session of another node", other: true, want: 1, within: leavingTimeout},
		{name: "a session of another node is ended", other: true, force: true, within: leavingLook},
		{name: "a node that does not answer", silent: true, code: "57P03", within: answerTimeout},
		{name: "prepared transactions", prepared: 2, code: "55006"},
		{name: "prepared transactions are not ended", prepared: 1, force: true, code: "55006"},
		{name: "a fragment that does not answer", missing: true, code: "57P03"},
		{name: "a fragment that does not answer, with force", missing: true, force: true, code: "57P03"},
		{name: "a lost fragment", missing: true, lost: true, code: "57P03"},
		{name: "a lost fragment, with force", missing: true, lost: true, force: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gone := make(chan struct{})
				var there atomic.Bool
				there.Store(test.leaves > 0)
				leave := func() {
					if there.CompareAndSwap(true, false) {
						close(gone)
					}
				}
				u := &DatabaseUsers{
					Catalog: c, View: c.View(), Database: catalog.PostgresDB, Force: test.force,
					Prepared: func(context.Context, catalog.OID, time.Duration) (
						[]txn.PreparedTransaction, []txn.FragmentID, error,
					) {
						if test.missing {
							return nil, []txn.FragmentID{fragment}, nil
						}
						return make([]txn.PreparedTransaction, test.prepared), nil, nil
					},
					IsSilent: func(uint32) bool { return false },
					IsLost:   func(*catalog.Fragment) bool { return test.lost },
					Here: func() []Connection {
						if !there.Load() {
							return nil
						}
						return []Connection{{Terminate: leave, Gone: gone}}
					},
					Reports: func(context.Context, monitor.Wanted) ([]monitor.Report, []monitor.Absent) {
						if test.silent {
							return nil, []monitor.Absent{{Name: "m"}}
						}
						if !test.other {
							return nil, nil
						}
						return []monitor.Report{{Sessions: []sysview.Session{{PID: 7, Database: catalog.PostgresDB}}}}, nil
					},
					Signal: func(_ context.Context, s monitor.Signal) (monitor.SignalResult, error) {
						test.other = s.PID != 7
						return monitor.SignalResult{}, nil
					},
				}
				if there.Load() {
					time.AfterFunc(test.leaves, leave)
				}
				start := time.Now()
				n, err := u.Disconnect(t.Context())
				if n != test.want || pgerr.Code(err) != test.code {
					t.Errorf("got %d sessions and SQLSTATE %q (%v), want %d and %q", n, pgerr.Code(err), err, test.want,
						test.code)
				}
				if waited := time.Since(start); waited > test.within+leavingLook {
					t.Errorf("waited for %v, want %v", waited, test.within)
				}
				leave()
			})
		})
	}
}
