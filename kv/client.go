package kv

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/liveness"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Config says which fragments a Client reaches. Peers and Other are nil if there are no other
// nodes.
type Config struct {
	Node    uint32 // this one
	Catalog *catalog.Catalog
	Clock   *txn.Clock
	Logger  *slog.Logger
	Here    Sender                                // this node
	Replica func(txn.FragmentID) *storage.Replica // on this node; nil: there is none
	Peers   *liveness.Detector                    // the failure detector
	Other   func(node uint32) (Sender, error)     // another node
}

// Client finds the leaders of fragments and sends them requests. All methods may be called
// concurrently.
type Client struct {
	cfg         Config
	coordinator txn.Coordinator
	atWork      sync.Map // transactions that have used a fragment or change the schema, by id
	ending      sync.Map // prepared transactions that are being committed or rolled back, by id
	followers   Followers

	pinning sync.Map      // each *Transaction that has pinned snapshots
	spread  chan struct{} // signals that a snapshot is not pinned in every fragment that may get rows of it
}

// New makes a Client.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg, spread: make(chan struct{}, 1)}
	c.coordinator.Clock, c.followers.client = cfg.Clock, c
	return c
}

// term returns the term in which this node leads a fragment; 0 if it does not.
func (c *Client) term(f txn.FragmentID) uint64 {
	if r := c.cfg.Replica(f); r != nil {
		return r.Group.Term()
	}
	return 0
}

// Started records that a transaction of this node is at work: it has used a fragment, or changes
// the schema.
func (c *Client) Started(id txn.ID) { c.atWork.Store(id, true) }

// Over records that a transaction of this node is over.
func (c *Client) Over(id txn.ID) { c.atWork.Delete(id) }

// AtWork reports whether a transaction of this node is at work.
func (c *Client) AtWork(id txn.ID) bool {
	_, open := c.atWork.Load(id)
	return open
}

// Ask calls do with a fragment's leader, and again with another one if that was not the leader or
// did not answer: doing it twice must be the same as doing it once.
func (c *Client) Ask(ctx context.Context, f txn.FragmentID, do func(Sender) error) error {
	return c.ask(ctx, f, func(l Leader) error { return do(l) })
}

func (c *Client) ask(ctx context.Context, f txn.FragmentID, do func(Leader) error) error {
	for b := (Backoff{}); ; {
		l, err := c.Find(ctx, f)
		if err != nil {
			return err
		}
		err = do(l)
		if err == nil || c.cfg.Peers == nil || !LeaderGone(err) && !OutcomeOpen(err) {
			return err
		}
		c.UpdateHint(f, err)
		if werr := b.Wait(ctx); werr != nil {
			return c.GaveUp(f, werr, err)
		}
	}
}

// Send sends a request to the leader of its fragment, as Ask does.
func (c *Client) Send(ctx context.Context, r *pb.Request) (a *pb.Response, err error) {
	err = c.ask(ctx, txn.FragmentID(r.Fragment), func(l Leader) (err error) {
		a, err = l.Send(ctx, r)
		return err
	})
	return a, err
}

// SoonTime bounds questions that may also be answered by: the fragment is out of reach.
const SoonTime = 5 * time.Second

// askSoon is Ask with a shorter limit.
func (c *Client) askSoon(ctx context.Context, f txn.FragmentID, do func(Sender) error) error {
	ctx, cancel := context.WithTimeout(ctx, SoonTime)
	defer cancel()
	return c.Ask(ctx, f, do)
}

// Pin keeps the versions that are visible at T, for a transaction, until release is called. It
// returns 72000 if they are gone already.
func (c *Client) Pin(
	ctx context.Context, f txn.FragmentID, id txn.ID, pin *pb.PinRequest,
) (release func(), err error) {
	var at Leader
	err = c.ask(ctx, f, func(l Leader) error {
		at = l
		_, err := l.Send(ctx, &pb.Request{Fragment: uint32(f), Transaction: id[:], Op: &pb.Request_Pin{Pin: pin}})
		return err
	})
	return func() { c.unpin(at, f, id) }, err
}

// unpinTime bounds the request that ends the pins of a transaction on another node.
const unpinTime = 10 * time.Second

// unpin ends the pins of a transaction that is over, without waiting for another node. If that node
// does not answer, the liveness messages tell it later.
func (c *Client) unpin(at Leader, f txn.FragmentID, id txn.ID) {
	r := &pb.Request{Fragment: uint32(f), Transaction: id[:], Op: &pb.Request_Unpin{Unpin: &pb.UnpinRequest{}}}
	if at.Node == c.cfg.Node {
		_, _ = at.Send(context.Background(), r) // if the replica is not here any more, neither is the pin
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), unpinTime)
		defer cancel()
		if _, err := at.Send(ctx, r); err != nil {
			c.cfg.Peers.ReportEnd(at.Node, id)
		}
	}()
}

// InEach calls a function for several fragments in parallel, and returns one of the errors.
func InEach(fragments []txn.FragmentID, do func(txn.FragmentID) error) error {
	errs := make([]error, len(fragments))
	var wg sync.WaitGroup
	for i, f := range fragments {
		wg.Go(func() { errs[i] = do(f) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// CountRows counts the rows of a storage id, of all if it is 0, in some fragments.
func (c *Client) CountRows(ctx context.Context, fragments []txn.FragmentID, table uint32) (
	map[txn.FragmentID][]*pb.Count, error,
) {
	var mu sync.Mutex
	by := map[txn.FragmentID][]*pb.Count{}
	err := InEach(fragments, func(f txn.FragmentID) error {
		a, err := c.Send(ctx, &pb.Request{
			Fragment: uint32(f), Op: &pb.Request_CountRows{CountRows: &pb.CountRowsRequest{Table: table}},
		})
		mu.Lock()
		defer mu.Unlock()
		by[f] = a.GetCounts().GetCounts()
		return err
	})
	return by, err
}

// TableTotal asks a fragment's leader for the documents of a storage id, and their bytes.
func (c *Client) TableTotal(ctx context.Context, f txn.FragmentID, table uint32) (docs, bytes int64, err error) {
	a, err := c.Totals(ctx, f, table)
	for _, x := range a.GetCounts() {
		docs, bytes = docs+x.Documents, bytes+x.Bytes
	}
	return docs, bytes, err
}

// Totals asks a fragment's leader for the documents of a storage id, of each if it is 0, their bytes,
// and how many of these rows transactions have written in the leader's term. Leaders of earlier
// releases count in parts, and know nothing of what was written.
func (c *Client) Totals(ctx context.Context, f txn.FragmentID, table uint32) (*pb.CountsAnswer, error) {
	a, err := c.Send(ctx, &pb.Request{
		Fragment: uint32(f), Op: &pb.Request_CountRows{CountRows: &pb.CountRowsRequest{Table: table, Total: true}},
	})
	return a.GetCounts(), err
}

// TableTotalHere returns the same from the replica on this node, which may be a moment behind. It
// reports whether there is one.
func (c *Client) TableTotalHere(f txn.FragmentID, table uint32) (docs, bytes int64, ok bool) {
	r := c.cfg.Replica(f)
	if r == nil {
		return 0, 0, false
	}
	docs, bytes = r.Inspect.TableTotal(table)
	return docs, bytes, true
}
