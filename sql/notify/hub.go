package notify

import (
	"cmp"
	"slices"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// Notification is what NOTIFY sends to the sessions that listen on a channel.
type Notification struct {
	Database catalog.OID
	Channel  string
	Payload  string
	PID      uint32 // of the session that sent it
}

// size is what a notification that waits counts for.
func (n *Notification) size() int64 { return int64(len(n.Channel)+len(n.Payload)) + 64 }

// Hub delivers the notifications of transactions to the sessions of this node that listen, and to the
// other nodes. A listener gets the notifications of two transactions in the order in which these
// committed, if one commit began after the other had ended or both ran at the same time on this node.
// Its methods may be called concurrently.
type Hub struct {
	forward func([]Notification) // to the other nodes, in order; nil: there are none

	mu        sync.Mutex
	listeners map[channel]map[*Listener]bool // guarded by mu
	now       uint64                         // counts beginnings and ends of commits; guarded by mu
	running   map[uint64]bool                // beginnings of commits that are not decided yet; guarded by mu
	ended     []batch                        // that wait for commits which ran at the same time; guarded by mu
	queued    int64                          // bytes that sessions have not taken yet; guarded by mu
}

type channel struct {
	database catalog.OID
	name     string
}

// batch is the notifications of a committed transaction.
type batch struct {
	end  uint64
	at   txn.Timestamp
	list []Notification
}

// maxQueued limits what waits for sessions that are in a transaction, or whose client is slow: above it
// NOTIFY is refused.
const maxQueued = 64 << 20

// NewHub returns a hub without listeners. forward sends to the other nodes, in order, and does not wait;
// nil: there are none.
func NewHub(forward func([]Notification)) *Hub {
	return &Hub{
		forward: forward, listeners: map[channel]map[*Listener]bool{}, running: map[uint64]bool{},
	}
}

// begin notes that a transaction with notifications is about to commit.
func (h *Hub) begin() (ticket uint64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.queued >= maxQueued {
		return 0, pgerr.New(pgerr.ProgramLimitExceeded, "too many notifications in the NOTIFY queue").
			WithHint("A session that listens does not read, or has been in a transaction for long: " +
				"see pg_stat_activity.")
	}
	h.now++
	h.running[h.now] = true
	return h.now, nil
}

// end ends what begin began; list is empty if the commit has failed.
func (h *Hub) end(ticket uint64, at txn.Timestamp, list []Notification) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.running, ticket)
	h.now++
	if len(list) > 0 {
		h.ended = append(h.ended, batch{h.now, at, list})
	}
	var ready []batch
	h.ended = slices.DeleteFunc(h.ended, func(b batch) bool {
		for t := range h.running {
			if t < b.end {
				return false
			}
		}
		ready = append(ready, b)
		return true
	})
	slices.SortStableFunc(ready, func(a, b batch) int { return cmp.Compare(a.at, b.at) })
	for _, b := range ready {
		h.deliver(b.list)
		if h.forward != nil {
			h.forward(b.list)
		}
	}
}

// deliver passes notifications to the listeners here. The caller holds mu.
func (h *Hub) deliver(list []Notification) {
	for _, n := range list {
		for l := range h.listeners[channel{n.Database, n.Channel}] {
			h.queued += n.size()
			l.add(n)
		}
	}
}

// Deliver passes on the notifications of transactions of another node.
func (h *Hub) Deliver(list []Notification) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deliver(list)
}

// Missed ends the sessions that listen: notifications of another node may be lost. As after a crash of
// PostgreSQL, clients connect again, look at what there is, and listen again.
func (h *Hub) Missed() {
	cause := &pgerr.Error{
		Severity: "FATAL", Code: pgerr.AdminShutdown,
		Message: "terminating connection because notifications of another node may be lost",
		Hint:    "Connect again, LISTEN, and look at what there is.",
	}
	h.mu.Lock()
	all := map[*Listener]bool{}
	for _, list := range h.listeners {
		for l := range list {
			all[l] = true
		}
	}
	h.mu.Unlock()
	for l := range all {
		l.terminate(cause)
	}
}

// Usage is pg_notification_queue_usage.
func (h *Hub) Usage() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return float64(h.queued) / maxQueued
}

// set adds a listener to a channel, or with on = false removes it.
func (h *Hub) set(l *Listener, name string, on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := channel{l.database, name}
	if !on {
		delete(h.listeners[c], l)
		if len(h.listeners[c]) == 0 {
			delete(h.listeners, c)
		}
		return
	}
	if h.listeners[c] == nil {
		h.listeners[c] = map[*Listener]bool{}
	}
	h.listeners[c][l] = true
}

// taken notes that a session has taken what waited for it.
func (h *Hub) taken(list []Notification) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range list {
		h.queued -= list[i].size()
	}
}
