package tx

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// PreparedTransactions ends and lists the prepared transactions of the databases, and keeps their
// locks on this node, so that the definitions of their tables cannot change. Each node keeps them.
// It is safe for concurrent use.
type PreparedTransactions struct {
	services  *Services
	locks     *locks.Manager
	fragments PreparedFragments

	mu   sync.Mutex
	held map[preparedName]*locks.Owner // guarded by mu
	// Databases whose prepared transactions are not known here yet, and the error if they were
	// asked; guarded by mu.
	adopting map[catalog.OID]error
}

// PreparedFragments is what the fragments do with prepared transactions.
type PreparedFragments struct {
	// List lists the prepared transactions of a database by name.
	List func(ctx context.Context, database catalog.OID) ([]txn.PreparedTransaction, error)
	// ListSoon is List, without tables, for the fragments that answer; the others are missing. It
	// does not ask fragments most of whose nodes are silent; it asks the others for as long as
	// timeout, and with timeout 0 for as long as any statement waits.
	ListSoon func(ctx context.Context, database catalog.OID, timeout time.Duration) (
		list []txn.PreparedTransaction, missing []txn.FragmentID, err error)
	// Commit and Rollback end a prepared transaction: 42704 if there is none of that name. After
	// any other error but 40003 it is still prepared.
	Commit func(
		ctx context.Context, database catalog.OID, gid string, floor txn.Timestamp) (txn.Timestamp, error)
	Rollback func(ctx context.Context, database catalog.OID, gid string) error
	// RowLocks returns row locks, held and waited for. The list is cut; the number is how many
	// there are.
	RowLocks func() ([]txn.RowLock, int)
}

// preparedName names a prepared transaction.
type preparedName struct {
	database catalog.OID
	gid      string
}

// NewPreparedTransactions returns the prepared transactions of a node that knows of none yet.
func NewPreparedTransactions(x *Services, m *locks.Manager, f PreparedFragments) *PreparedTransactions {
	return &PreparedTransactions{
		services: x, locks: m, fragments: f,
		held: map[preparedName]*locks.Owner{}, adopting: map[catalog.OID]error{},
	}
}

// Keep keeps the locks of a transaction that has become a prepared transaction. owner is nil if it
// has none.
func (p *PreparedTransactions) Keep(database catalog.OID, gid string, owner *locks.Owner) {
	if owner == nil {
		return
	}
	p.mu.Lock()
	p.held[preparedName{database, gid}] = owner
	p.mu.Unlock()
}

// Find returns the prepared transaction of a database with a name, or the error that there is none.
func (p *PreparedTransactions) Find(
	ctx context.Context, view *catalog.View, database catalog.OID, gid string,
) (txn.PreparedTransaction, error) {
	at := func(list []txn.PreparedTransaction) int {
		return slices.IndexFunc(list, func(h txn.PreparedTransaction) bool { return h.GID == gid })
	}
	list, missing, err := p.fragments.ListSoon(ctx, database, 0)
	if err == nil && len(missing) > 0 && at(list) < 0 { // it may be in a fragment that did not answer
		list, err = p.fragments.List(ctx, database)
	}
	if err != nil {
		return txn.PreparedTransaction{}, err
	}
	if i := at(list); i >= 0 {
		return list[i], nil
	}
	for d := range view.Databases() {
		list, err := p.fragments.List(ctx, d.OID)
		if err != nil {
			return txn.PreparedTransaction{}, err
		}
		if d.OID != database && at(list) >= 0 {
			return txn.PreparedTransaction{},
				pgerr.New(pgerr.FeatureNotSupported, "prepared transaction belongs to another database").
					WithHint("Connect to the database where the transaction was prepared to finish it.")
		}
	}
	return txn.PreparedTransaction{},
		pgerr.New(pgerr.UndefinedObject, `prepared transaction with identifier "%s" does not exist`, gid)
}

// All lists the prepared transactions of all databases of a view.
func (p *PreparedTransactions) All(ctx context.Context, view *catalog.View) ([]txn.PreparedTransaction, error) {
	var out []txn.PreparedTransaction
	for d := range view.Databases() {
		list, err := p.fragments.List(ctx, d.OID)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// Commit commits a prepared transaction above floor, and returns its timestamp.
func (p *PreparedTransactions) Commit(
	ctx context.Context, database catalog.OID, gid string, floor txn.Timestamp,
) (txn.Timestamp, error) {
	at, err := p.fragments.Commit(ctx, database, gid, floor)
	p.end(preparedName{database, gid}, err)
	return at, err
}

// Rollback undoes a prepared transaction.
func (p *PreparedTransactions) Rollback(ctx context.Context, database catalog.OID, gid string) error {
	err := p.fragments.Rollback(ctx, database, gid)
	p.end(preparedName{database, gid}, err)
	return err
}

// end releases the locks of a prepared transaction that has ended. A commit whose outcome is
// unknown will end by itself.
func (p *PreparedTransactions) end(name preparedName, err error) {
	if err != nil && !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return
	}
	p.mu.Lock()
	owner := p.held[name]
	p.mu.Unlock()
	if owner != nil {
		p.release(name, owner)
	}
}

// release releases the locks of one prepared transaction, unless another transaction of the same
// name has taken its place.
func (p *PreparedTransactions) release(name preparedName, owner *locks.Owner) {
	p.mu.Lock()
	is := p.held[name] == owner
	if is {
		delete(p.held, name)
	}
	p.mu.Unlock()
	if !is {
		return
	}
	owner.Release()
	if e := p.services.TableLocks; e != nil {
		e.Release(owner.ID())
	}
}

// endedInterval is the interval between checks whether prepared transactions have ended at other nodes.
const endedInterval = time.Second

// endedTimeout is how long such a check waits for a fragment.
const endedTimeout = 5 * time.Second

// Follow releases the locks of prepared transactions that were ended through another node,
// until ctx ends.
func (p *PreparedTransactions) Follow(ctx context.Context) {
	t := time.NewTicker(endedInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			p.adopt(ctx)
			p.releaseEnded(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (p *PreparedTransactions) releaseEnded(ctx context.Context) {
	p.mu.Lock()
	held := maps.Clone(p.held) // all of these are durable already
	p.mu.Unlock()
	ended := map[catalog.OID]func(txn.ID) bool{}
	for name, owner := range held {
		if ended[name.database] == nil {
			ended[name.database] = p.endedIn(ctx, name.database)
		}
		if ended[name.database](owner.ID()) {
			p.release(name, owner)
		}
	}
}

// endedIn returns a function that reports whether a prepared transaction of a database has
// certainly ended. All transactions of a dropped database have; none has while a fragment does not
// answer.
func (p *PreparedTransactions) endedIn(ctx context.Context, database catalog.OID) func(txn.ID) bool {
	if p.services.Catalog.View().Database(database) == nil {
		return func(txn.ID) bool { return true }
	}
	list, missing, err := p.fragments.ListSoon(ctx, database, endedTimeout)
	return func(id txn.ID) bool {
		return err == nil && len(missing) == 0 && !slices.ContainsFunc(list, func(h txn.PreparedTransaction) bool {
			return h.ID == id
		})
	}
}
