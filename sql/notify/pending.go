package notify

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// Pending is what a transaction has asked for with LISTEN, UNLISTEN and NOTIFY; it happens when the
// transaction commits. The zero value has asked for nothing. A savepoint keeps it by keeping the value:
// what follows is appended.
type Pending struct {
	listens []listen
	notes   []note
	seen    map[note]int // where a note is in notes, if it still is; shared with savepoints
}

// listen is LISTEN, or UNLISTEN: of all channels if none is named.
type listen struct {
	channel string
	on      bool
}

type note struct{ channel, payload string }

// Limits of PostgreSQL: names end at NAMEDATALEN, payloads at what a page of its queue holds.
const (
	maxChannel = 64
	maxPayload = 8000
)

// Notify adds a notification, unless the transaction has the same one already.
func (p *Pending) Notify(channel, payload string) error {
	switch {
	case channel == "":
		return pgerr.New(pgerr.InvalidParameterValue, "channel name cannot be empty")
	case len(channel) >= maxChannel:
		return pgerr.New(pgerr.InvalidParameterValue, "channel name too long")
	case len(payload) >= maxPayload:
		return pgerr.New(pgerr.InvalidParameterValue, "payload string too long")
	}
	n := note{channel, payload}
	if i, ok := p.seen[n]; ok && i < len(p.notes) && p.notes[i] == n {
		return nil
	}
	if p.seen == nil {
		p.seen = map[note]int{}
	}
	p.seen[n] = len(p.notes)
	p.notes = append(p.notes, n)
	return nil
}

// Listen adds LISTEN, or with on = false UNLISTEN: of all channels if the name is empty.
func (p *Pending) Listen(channel string, on bool) { p.listens = append(p.listens, listen{channel, on}) }

// IsEmpty reports whether the transaction has asked for nothing.
func (p *Pending) IsEmpty() bool { return len(p.listens)+len(p.notes) == 0 }

// Announce goes before the commit. Publish needs its ticket, also if the commit fails.
func (p *Pending) Announce(by *Listener) (ticket uint64, err error) {
	if len(p.notes) == 0 {
		return 0, nil
	}
	return by.hub.begin()
}

// Publish begins and ends listening and sends the transaction's notifications, when its commit has ended
// with err. If the outcome is unknown they are sent too: a listener looks at the rows, and finds them or
// not.
func (p *Pending) Publish(by *Listener, ticket uint64, at txn.Timestamp, err error) {
	var list []Notification
	if err == nil || pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		for _, l := range p.listens {
			by.set(l.channel, l.on)
		}
		for _, n := range p.notes {
			list = append(list, Notification{by.database, n.channel, n.payload, by.pid})
		}
	}
	if len(p.notes) > 0 {
		by.hub.end(ticket, at, list)
	}
}
