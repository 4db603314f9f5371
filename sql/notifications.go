package sql

import (
	"cmp"
	"slices"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// Notification is what NOTIFY says to those who listen on a channel.
type Notification struct {
	Database catalog.OID
	Channel  string
	Payload  string
	PID      uint32 // of the session that said it
}

// notifications hands what transactions have said to the sessions of this node that listen, and to the other nodes. Whoever gets notifications of two
// transactions gets them in the order in which these committed, as far as one commit began after the other had ended or both ran at once on this
// node.
//
// Nothing is stored: a listener that is not there misses what is said, and one that may have missed something loses its connection (Missed), so that
// it knows.
type notifications struct {
	forward func([]Notification) // to the other nodes, in order; nil: there are none

	mu        sync.Mutex
	listeners map[channel]map[*Session]bool // guarded by mu
	now       uint64                        // counts beginnings and ends of commits; guarded by mu
	running   map[uint64]bool               // beginnings of commits with notifications that are under way; guarded by mu
	ended     []saidBy                      // that wait for commits which ran beside them; guarded by mu
	queued    int64                         // bytes that sessions have not taken yet; guarded by mu
}

type channel struct {
	database catalog.OID
	name     string
}

// saidBy is what a committed transaction has said.
type saidBy struct {
	end  uint64
	at   txn.Timestamp
	list []Notification
}

// maxQueued bounds what waits for sessions that are in a transaction, or whose client is slow: beyond it nobody can say anything.
const maxQueued = 64 << 20

func newNotifications() *notifications {
	return &notifications{listeners: map[channel]map[*Session]bool{}, running: map[uint64]bool{}}
}

// begin tells that a transaction which has something to say is about to commit.
func (x *notifications) begin() (ticket uint64, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.queued >= maxQueued {
		return 0, pgerr.New(pgerr.ProgramLimitExceeded, "too many notifications in the NOTIFY queue").
			WithHint("A session that listens does not read, or has been in a transaction for long: see pg_stat_activity.")
	}
	x.now++
	x.running[x.now] = true
	return x.now, nil
}

// end tells how that went on: list is empty where the commit has failed.
func (x *notifications) end(ticket uint64, at txn.Timestamp, list []Notification) {
	x.mu.Lock()
	delete(x.running, ticket)
	x.now++
	if len(list) > 0 {
		x.ended = append(x.ended, saidBy{x.now, at, list})
	}
	var ready []saidBy
	x.ended = slices.DeleteFunc(x.ended, func(s saidBy) bool {
		for t := range x.running {
			if t < s.end {
				return false
			}
		}
		ready = append(ready, s)
		return true
	})
	slices.SortStableFunc(ready, func(a, b saidBy) int { return cmp.Compare(a.at, b.at) })
	for _, s := range ready {
		x.hand(s.list)
		if x.forward != nil {
			x.forward(s.list)
		}
	}
	x.mu.Unlock()
}

// hand gives notifications to those who listen here. The caller holds mu.
func (x *notifications) hand(list []Notification) {
	for _, n := range list {
		for s := range x.listeners[channel{n.Database, n.Channel}] {
			x.queued += n.size()
			s.inbox.add(n)
		}
	}
}

// size is what a notification that waits counts for.
func (n *Notification) size() int64 { return int64(len(n.Channel)+len(n.Payload)) + 64 }

// Deliver hands on what transactions of another node have said.
func (db *Server) Deliver(list []Notification) {
	db.notifications.mu.Lock()
	defer db.notifications.mu.Unlock()
	db.notifications.hand(list)
}

// Missed ends the sessions that listen: notifications of another node may be lost. As after a crash of PostgreSQL, whoever comes back looks at
// what there is, and listens anew.
func (db *Server) Missed() {
	cause := &pgerr.Error{
		Severity: "FATAL", Code: pgerr.AdminShutdown, Message: "terminating connection because notifications of another node may be lost",
		Hint: "Connect again, LISTEN, and look at what there is.",
	}
	x := db.notifications
	x.mu.Lock()
	gone := map[*Session]bool{}
	for _, sessions := range x.listeners {
		for s := range sessions {
			gone[s] = true
		}
	}
	x.mu.Unlock()
	for s := range gone {
		s.terminate(cause)
	}
}

// usage is pg_notification_queue_usage.
func (x *notifications) usage() float64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return float64(x.queued) / maxQueued
}

// listen adds a session to those who listen on a channel, or with on = false takes it out.
func (x *notifications) listen(s *Session, name string, on bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := channel{s.database, name}
	if !on {
		delete(x.listeners[c], s)
		if len(x.listeners[c]) == 0 {
			delete(x.listeners, c)
		}
		return
	}
	if x.listeners[c] == nil {
		x.listeners[c] = map[*Session]bool{}
	}
	x.listeners[c][s] = true
}

// taken tells that sessions have taken what waited for them.
func (x *notifications) taken(list []Notification) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range list {
		x.queued -= list[i].size()
	}
}

// inbox is the notifications that wait for a session.
type inbox struct {
	mu   sync.Mutex
	list []Notification // guarded by mu
	wake func()         // the connection, from any goroutine; nil: nobody waits for notifications
}

func (b *inbox) add(n Notification) {
	b.mu.Lock()
	b.list = append(b.list, n)
	b.mu.Unlock()
	if b.wake != nil {
		b.wake()
	}
}

func (b *inbox) take() []Notification {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.list
	b.list = nil
	return list
}

// Notifications takes what was said to the session, in order; nothing within a transaction. The connection sends it.
func (s *Session) Notifications() []Notification {
	if s.tx != nil || len(s.listening) == 0 {
		return nil
	}
	list := s.inbox.take()
	if len(list) > 0 {
		s.db.notifications.taken(list)
		list = slices.DeleteFunc(list, func(n Notification) bool { return !slices.Contains(s.listening, n.Channel) })
	}
	return list
}
