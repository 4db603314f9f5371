package schemachange

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/txn"
)

// DatabaseUsers are the sessions and prepared transactions that use a database, other than the
// session that drops it.
type DatabaseUsers struct {
	Catalog  *catalog.Catalog
	View     *catalog.View
	Database catalog.OID
	// Force ends the sessions, and does without fragments that are lost.
	Force bool

	// Prepared lists prepared transactions. It does not wait for fragments that do not answer,
	// which are missing.
	Prepared func(ctx context.Context, database catalog.OID, timeout time.Duration) (
		list []txn.PreparedTransaction, missing []txn.FragmentID, err error)
	IsSilent func(node uint32) bool         // it does not answer
	IsLost   func(f *catalog.Fragment) bool // all its nodes have left or are silent for good
	Here     func() []Connection            // of this node

	// Reports asks the other nodes, and Signal ends a session of another node. They are nil if
	// there are no other nodes.
	Reports func(ctx context.Context, wanted monitor.Wanted) ([]monitor.Report, []monitor.Absent)
	Signal  func(ctx context.Context, s monitor.Signal) (monitor.SignalResult, error)
}

// Connection is a session that uses the database.
type Connection struct {
	Terminate func()
	Gone      <-chan struct{} // closed when it has ended
}

// DROP DATABASE waits for sessions that are about to end, as PostgreSQL does. It waits for a node
// that does not answer until no session can hold anything there.
const (
	leavingTimeout = 5 * time.Second
	answerTimeout  = 3 * leavingTimeout
	leavingLook    = 100 * time.Millisecond // between two looks
)

// Disconnect returns how many other sessions use the database, after it has waited a while for
// sessions that are about to end. With Force it ends them. It does not end prepared transactions,
// but returns 55006.
func (u *DatabaseUsers) Disconnect(ctx context.Context) (int, error) {
	held, missing, err := u.Prepared(ctx, u.Database, 0)
	if err != nil {
		return 0, err
	}
	if n := len(held); n > 0 {
		name := u.View.Database(u.Database).Name
		e := pgerr.New(pgerr.ObjectInUse, `database "%s" is being accessed by other users`, name)
		if u.Force {
			e = pgerr.New(pgerr.ObjectInUse, `database "%s" is being used by prepared transactions`, name)
		}
		if n == 1 {
			return 0, e.WithDetail("There is 1 prepared transaction using the database.")
		}
		return 0, e.WithDetail("There are %d prepared transactions using the database.", n)
	}
	if err := u.mayMiss(missing); err != nil {
		return 0, err
	}
	started := time.Now()
	for {
		others := u.Here()
		elsewhere, absent, err := u.connectedElsewhere(ctx)
		n := len(others) + elsewhere
		switch waited := time.Since(started); {
		case err != nil:
			return n, err
		case n == 0 && absent == "":
			return 0, u.endLost(ctx, missing)
		case n > 0 && waited >= leavingTimeout:
			return n, nil
		case waited >= answerTimeout:
			return 0, pgerr.New(pgerr.CannotConnectNow,
				"node %s does not answer, and may have sessions that use the database", absent).
				WithHint("Start the node, or stop its process: it is left out some seconds after its last heartbeat. " +
					"sherd.nodes shows which nodes answer.")
		}
		if u.Force {
			for _, o := range others {
				o.Terminate()
			}
		}
		var gone <-chan struct{}
		if len(others) > 0 {
			gone = others[0].Gone
		}
		select {
		case <-gone:
		case <-time.After(leavingLook): // sessions of other nodes do not signal their end here
		case <-ctx.Done():
			return n, pgerr.Cancelled(ctx)
		}
	}
}

// mayMiss returns an error if a fragment does not answer, because it may have prepared transactions
// that use the database. Force passes over fragments that are lost: what was prepared there belongs
// to this database alone, and can no longer be read or ended.
func (u *DatabaseUsers) mayMiss(missing []txn.FragmentID) error {
	d := u.View.Database(u.Database)
	for _, id := range missing {
		f := d.FragmentByID(id)
		if f == nil || u.Force && u.IsLost(f) {
			continue
		}
		all, silent := u.nodesOf(f)
		e := pgerr.New(pgerr.CannotConnectNow,
			"fragment %s does not answer, and may have prepared transactions that use the database", d.FragmentName(f)).
			WithDetail("Its replicas are on %s; no answer from %s.", strings.Join(all, ", "),
				strings.Join(silent, ", "))
		switch {
		case len(silent) == 0:
			return e.WithDetail("Its replicas are on %s.", strings.Join(all, ", ")).WithHint("Try again in a moment.")
		case u.Force:
			return e.WithHint("Start the nodes that are missing. WITH (FORCE) does without a fragment when all of " +
				"its nodes have been silent for sherd.dead_node_after; " +
				"where one has its data, sherd node recover brings the fragment back.")
		}
		return e.WithHint("Start the nodes that are missing. If their data is lost for good, DROP DATABASE %s "+
			"WITH (FORCE) drops the database without them.",
			builtin.QuoteIdent(d.Name))
	}
	return nil
}

// endLost drops prepared changes of definitions if their coordinator fragment is one that Force
// passes over. The catalog would keep them, and the database with them, until that fragment
// reported their outcome.
func (u *DatabaseUsers) endLost(ctx context.Context, lost []txn.FragmentID) error {
	for _, x := range u.Catalog.View().PreparedChanges() {
		if !slices.Contains(lost, x.Home) {
			continue
		}
		if err := u.Catalog.EndPrepared(ctx, x.ID, 0, false); err != nil {
			return err
		}
	}
	return nil
}

// nodesOf returns the names of the nodes that have a replica of a fragment, and the names of those
// that do not answer.
func (u *DatabaseUsers) nodesOf(f *catalog.Fragment) (all, silent []string) {
	for _, id := range f.Nodes {
		n := u.View.Node(id)
		if n == nil || slices.Contains(f.Joining, id) {
			continue
		}
		all = append(all, n.Name)
		if u.IsSilent(id) {
			silent = append(silent, n.Name)
		}
	}
	return all, silent
}

// connectedElsewhere counts the sessions of a database at other nodes. It also returns the name of
// a node that did not answer and may have sessions. With Force it ends sessions of any role: the
// caller has checked that the user may do so.
func (u *DatabaseUsers) connectedElsewhere(ctx context.Context) (n int, absent string, err error) {
	if u.Reports == nil {
		return 0, "", nil
	}
	reports, missing := u.Reports(ctx, monitor.WantSessions)
	for _, a := range missing {
		if !a.Gone {
			absent = a.Name
		}
	}
	for _, r := range reports {
		for _, x := range r.Sessions {
			if x.Database != u.Database {
				continue
			}
			n++
			if !u.Force {
				continue
			}
			if _, err := u.Signal(
				ctx, monitor.Signal{PID: x.PID, Terminate: true, Role: catalog.BootstrapRole},
			); err != nil {
				return n, absent, err
			}
		}
	}
	return n, absent, nil
}
