package notify

import (
	"slices"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// Listener is a session that may listen and send. Except for add, its methods are the session's own.
type Listener struct {
	hub       *Hub
	database  catalog.OID
	pid       uint32
	channels  []string
	wake      func()             // the connection, from any goroutine; nil: it does not wait for notifications
	terminate func(*pgerr.Error) // ends the session

	mu    sync.Mutex
	queue []Notification // guarded by mu
}

// Session returns the listener of a session of a database. wake, which may be nil, is called when a
// notification waits; terminate ends the session.
func (h *Hub) Session(
	database catalog.OID, pid uint32, wake func(), terminate func(cause *pgerr.Error),
) *Listener {
	return &Listener{hub: h, database: database, pid: pid, wake: wake, terminate: terminate}
}

// Channels lists the channels on which the session listens.
func (l *Listener) Channels() []string { return l.channels }

// set does what LISTEN or UNLISTEN has asked for.
func (l *Listener) set(channel string, on bool) {
	switch at := slices.Index(l.channels, channel); {
	case channel == "":
		l.UnlistenAll()
	case on && at < 0:
		l.channels = append(l.channels, channel)
		l.hub.set(l, channel, true)
	case !on && at >= 0:
		l.channels = slices.Delete(l.channels, at, at+1)
		l.hub.set(l, channel, false)
	}
	l.dropUnheard()
}

// UnlistenAll ends listening on all channels.
func (l *Listener) UnlistenAll() {
	for _, c := range l.channels {
		l.hub.set(l, c, false)
	}
	l.channels = nil
	l.dropUnheard()
}

// dropUnheard forgets what waits for a session that no longer listens.
func (l *Listener) dropUnheard() {
	if len(l.channels) == 0 {
		l.hub.taken(l.take())
	}
}

// Take returns the notifications that wait, in order.
func (l *Listener) Take() []Notification {
	if len(l.channels) == 0 {
		return nil
	}
	list := l.take()
	if len(list) > 0 {
		l.hub.taken(list)
		list = slices.DeleteFunc(list, func(n Notification) bool { return !slices.Contains(l.channels, n.Channel) })
	}
	return list
}

func (l *Listener) add(n Notification) {
	l.mu.Lock()
	l.queue = append(l.queue, n)
	l.mu.Unlock()
	if l.wake != nil {
		l.wake()
	}
}

func (l *Listener) take() []Notification {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.queue
	l.queue = nil
	return list
}
