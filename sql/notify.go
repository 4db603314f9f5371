package sql

import (
	"context"
	"slices"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// said is what a transaction has asked for with LISTEN, UNLISTEN and NOTIFY; it happens when the transaction commits. A savepoint keeps it by keeping
// the value: what follows is appended.
type said struct {
	listens []listening
	notes   []note
	seen    map[note]int // where a note is in notes, if it still is; shared with savepoints
}

// listening is LISTEN, or UNLISTEN: of all channels where none is named.
type listening struct {
	channel string
	on      bool
}

type note struct{ channel, payload string }

// Bounds of PostgreSQL: names end at NAMEDATALEN, payloads at what a page of its queue holds.
const (
	maxChannel = 64
	maxPayload = 8000
)

// note adds what NOTIFY says. What was said in the transaction already is not said again.
func (x *said) note(n note) {
	if i, ok := x.seen[n]; ok && i < len(x.notes) && x.notes[i] == n {
		return
	}
	if x.seen == nil {
		x.seen = map[note]int{}
	}
	x.seen[n] = len(x.notes)
	x.notes = append(x.notes, n)
}

func (x *said) empty() bool { return len(x.listens)+len(x.notes) == 0 }

// Notify implements builtin.TransactionInfo.
func (i info) Notify(channel, payload string) error {
	switch {
	case channel == "":
		return pgerr.New(pgerr.InvalidParameterValue, "channel name cannot be empty")
	case len(channel) >= maxChannel:
		return pgerr.New(pgerr.InvalidParameterValue, "channel name too long")
	case len(payload) >= maxPayload:
		return pgerr.New(pgerr.InvalidParameterValue, "payload string too long")
	case i.tx == nil:
		return pgerr.Unsupported("notifications cannot be sent here")
	}
	i.tx.said.note(note{channel, payload})
	return nil
}

// ListeningChannels implements builtin.TransactionInfo.
func (i info) ListeningChannels() []string { return i.listening }

// NotificationUsage implements builtin.TransactionInfo.
func (i info) NotificationUsage() float64 { return i.db.notifications.usage() }

// notifyStmt is NOTIFY.
func (s *Session) notifyStmt(n *pg_query.NotifyStmt, w ResultWriter, together bool) error {
	s.join(together)
	if err := (info{Session: s}).Notify(n.Conditionname, n.Payload); err != nil {
		return err
	}
	return w.Complete("NOTIFY")
}

// hearTime bounds how long LISTEN waits for other nodes. One that does not answer by then may be heard later: if it has said something meanwhile, who
// listens is told by the end of the connection.
const hearTime = 3 * time.Second

// listenStmt is LISTEN and UNLISTEN.
func (s *Session) listenStmt(ctx context.Context, channel string, on bool, w ResultWriter, together bool) error {
	s.join(together)
	if o := s.db.cfg.Others; on && o != nil && o.Heard != nil {
		bounded, cancel := context.WithTimeout(ctx, hearTime)
		err := o.Heard(bounded)
		cancel()
		if err != nil && ctx.Err() != nil {
			return pgerr.Cancelled(ctx)
		}
	}
	s.tx.said.listens = append(s.tx.said.listens, listening{channel, on})
	if on {
		return w.Complete("LISTEN")
	}
	return w.Complete("UNLISTEN")
}

// join makes a statement part of a transaction.
func (s *Session) join(together bool) {
	if s.tx == nil {
		s.begin().Together = together
	}
}

// announce is what LISTEN and NOTIFY need before a commit.
func (x *said) announce(to *notifications) (ticket uint64, err error) {
	if len(x.notes) == 0 {
		return 0, nil
	}
	return to.begin()
}

// mayBeCommitted reports whether a transaction has committed, or may have, as the error of its commit says.
func mayBeCommitted(err error) bool {
	return err == nil || pgerr.Is(err, pgerr.StatementCompletionUnknown)
}

// publish sends the transaction's notifications when its commit has ended; by is the session of the client. If the
// outcome is unknown they are sent too: a listener looks at the rows, and finds them or not.
func (x *said) publish(by *Session, ticket uint64, at txn.Timestamp, err error) {
	if len(x.notes) == 0 {
		return
	}
	var list []Notification
	if mayBeCommitted(err) {
		for _, n := range x.notes {
			list = append(list, Notification{by.database, n.channel, n.payload, by.start.PID})
		}
	}
	by.db.notifications.end(ticket, at, list)
}

// listen does what LISTEN or UNLISTEN has asked for.
func (s *Session) listen(l listening) {
	switch at := slices.Index(s.listening, l.channel); {
	case l.channel == "":
		s.unlistenAll()
	case l.on && at < 0:
		s.listening = append(s.listening, l.channel)
		s.db.notifications.listen(s, l.channel, true)
	case !l.on && at >= 0:
		s.listening = slices.Delete(s.listening, at, at+1)
		s.db.notifications.listen(s, l.channel, false)
	}
	s.dropUnheard()
}

func (s *Session) unlistenAll() {
	for _, c := range s.listening {
		s.db.notifications.listen(s, c, false)
	}
	s.listening = nil
	s.dropUnheard()
}

// dropUnheard forgets what waits for a session that does not listen any more.
func (s *Session) dropUnheard() {
	if len(s.listening) == 0 {
		s.db.notifications.taken(s.inbox.take())
	}
}
