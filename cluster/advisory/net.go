package advisory

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

const (
	tick       = time.Second
	lease      = 8 * time.Second  // A3
	grace      = 12 * time.Second // A1
	askTimeout = 3 * time.Second  // for requests that do not wait for a lock
	timeout    = 30 * time.Second // limit of the attempts while a database has no lock leader
	restarted  = 3 * time.Second  // silence after which a process has ended, if its node has a newer one
	pause      = 20 * time.Millisecond
)

// Config has the parts of the node that a Net uses. All fields are required.
type Config struct {
	Self        uint32
	Incarnation uint64 // of this process
	Catalog     *catalog.Catalog
	Port        *transport.Port
	Nodes       func() []uint32 // of the cluster; this one is among them
	Detector    *txn.Detector
	Logger      *slog.Logger
	// Leader returns which node leads a fragment, as far as is known; term is not 0 if it is this
	// node.
	Leader func(f txn.FragmentID) (node uint32, term uint64, ok bool)
	// Confirm checks that this node leads a fragment in a term, at some moment after the call
	// began.
	Confirm func(ctx context.Context, f txn.FragmentID, term uint64) error
	// Incarnations returns the number of the process that a node runs as; 0: not known.
	Incarnations func(node uint32) uint64
}

// leaderTerm is a term of the lock leader.
type leaderTerm struct {
	fragment uint32
	term     uint64
}

func (h leaderTerm) before(o leaderTerm) bool {
	return cmp.Or(cmp.Compare(h.fragment, o.fragment), cmp.Compare(h.term, o.term)) < 0
}

// lock names what is held and its owner: a transaction, or the session itself.
type lock struct {
	session uint32
	txn     txn.ID // zero: the session
	tag     locks.Tag
	mode    locks.Mode
}

// user is a transaction, or a session.
type user struct {
	session uint32
	txn     txn.ID
}

// use has the locks of a user, all of one database.
type use struct {
	database uint32
	locks    int
}

func (k lock) user() user {
	if k.txn.IsZero() {
		return user{session: k.session}
	}
	return user{txn: k.txn}
}

// errElsewhere means that the lock leader is another node; nothing was done.
var errElsewhere = errors.New("advisory: the database's locks are kept elsewhere")

// Net is one node's part in advisory locks. All methods may be called concurrently.
type Net struct {
	pb.UnimplementedAdvisoryLocksServer
	cfg  Config
	lost atomic.Pointer[func(pid uint32)]

	mu            sync.Mutex
	count         uint64             // of the requests made here; guarded by mu
	gates         map[uint32]*gate   // by database; guarded by mu
	users         map[user]*use      // users that hold something; guarded by mu
	lostBy        map[user]time.Time // users that have lost a lock; guarded by mu
	some          atomic.Bool        // users or lostBy have something
	leadershipsMu sync.Mutex
	leaderships   map[uint32]*leadership // by database; guarded by leadershipsMu
	since         map[uint32]timeOf      // when this node's term was noticed; guarded by leadershipsMu
}

type timeOf struct {
	leader leaderTerm
	at     time.Time
}

// New creates the Net of a node and registers its service.
func New(cfg Config, members grpc.ServiceRegistrar) *Net {
	n := &Net{
		cfg: cfg, gates: map[uint32]*gate{}, users: map[user]*use{}, lostBy: map[user]time.Time{},
		leaderships: map[uint32]*leadership{}, since: map[uint32]timeOf{},
	}
	pb.RegisterAdvisoryLocksServer(members, n)
	return n
}

// Serve sets the function that terminates a session that has lost a lock.
func (n *Net) Serve(lost func(pid uint32)) { n.lost.Store(&lost) }

// Run renews locks and detects lost ones, until ctx ends.
func (n *Net) Run(ctx context.Context) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			n.lookAtTerms()
			n.keepAll(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// first returns the fragment whose leader is the lock leader of a database's locks: the one with
// the lowest number. A fragment that is added later has a higher one.
func (n *Net) first(database uint32) (txn.FragmentID, bool) {
	d := n.cfg.Catalog.View().Database(database)
	if d == nil || len(d.Fragments) == 0 {
		return 0, false
	}
	f := d.Fragments[0].ID
	for i := range d.Fragments {
		f = min(f, d.Fragments[i].ID)
	}
	return txn.FragmentID(f), true
}

func (n *Net) alone() bool {
	for _, x := range n.cfg.Nodes() {
		if x != n.cfg.Self {
			return false
		}
	}
	return true
}

func (n *Net) client(node uint32) (pb.AdvisoryLocksClient, error) {
	link, err := n.cfg.Port.Link(node, transport.TaskLink)
	if err != nil {
		return nil, err
	}
	return pb.NewAdvisoryLocksClient(link), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
