package notify

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// payloads returns what waits for a listener.
func payloads(l *Listener) string {
	var out []string
	for _, n := range l.Take() {
		out = append(out, n.Payload)
	}
	return strings.Join(out, ",")
}

func wantPayloads(t *testing.T, l *Listener, want string) {
	t.Helper()
	if got := payloads(l); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// commit runs a transaction that does something and ends with err.
func commit(t *testing.T, by *Listener, at txn.Timestamp, err error, do func(p *Pending)) {
	t.Helper()
	var p Pending
	do(&p)
	ticket, refused := p.Announce(by)
	if refused != nil {
		t.Fatal(refused)
	}
	p.Publish(by, ticket, at, err)
}

func listenX(p *Pending) { p.Listen("x", true) }

func say(text string) func(*Pending) {
	return func(p *Pending) { _ = p.Notify("x", text) }
}

// TestPending: each notification is sent once, and a savepoint is undone by going back to its value.
func TestPending(t *testing.T) {
	h := NewHub(nil)
	l := h.Session(5, 1, nil, nil)
	commit(t, l, 1, nil, listenX)
	commit(t, l, 2, nil, func(p *Pending) {
		for _, text := range []string{"1", "2", "1"} {
			say(text)(p)
		}
		before := *p
		say("3")(p)
		say("2")(p)
		*p = before
		say("4")(p)
		say("3")(p)
	})
	wantPayloads(t, l, "1,2,4,3")
	for _, name := range []string{"", strings.Repeat("x", maxChannel)} {
		if err := new(Pending).Notify(name, ""); !pgerr.Is(err, pgerr.InvalidParameterValue) {
			t.Errorf("channel %q: %v", name, err)
		}
	}
}

// TestOutcome: a commit that failed sends nothing and changes no listener; one of which the outcome is
// unknown does both.
func TestOutcome(t *testing.T) {
	h := NewHub(nil)
	l := h.Session(5, 1, nil, nil)
	commit(t, l, 1, errors.New("failed"), listenX)
	if len(l.Channels()) > 0 {
		t.Error("listens after a failed commit")
	}
	commit(t, l, 1, pgerr.New(pgerr.StatementCompletionUnknown, "unknown"), listenX)
	commit(t, l, 2, errors.New("failed"), say("no"))
	commit(t, l, 3, pgerr.New(pgerr.StatementCompletionUnknown, "unknown"), say("perhaps"))
	wantPayloads(t, l, "perhaps")
	if h.Usage() != 0 {
		t.Errorf("usage %v after all was taken", h.Usage())
	}
}

// TestOrder: of two commits that run at the same time the one with the lower timestamp is first, whichever
// ends first. All listeners and the other nodes see the same order.
func TestOrder(t *testing.T) {
	var elsewhere []string
	h := NewHub(func(list []Notification) {
		for _, n := range list {
			elsewhere = append(elsewhere, n.Payload)
		}
	})
	woken := 0
	l, other := h.Session(5, 1, func() { woken++ }, nil), h.Session(6, 2, nil, nil)
	commit(t, l, 1, nil, listenX)
	commit(t, other, 1, nil, listenX)
	var late, early Pending
	say("late")(&late)
	say("early")(&early)
	a, _ := late.Announce(l)
	b, _ := early.Announce(l)
	late.Publish(l, a, 9, nil)
	wantPayloads(t, l, "")
	early.Publish(l, b, 8, nil)
	wantPayloads(t, l, "early,late")
	wantPayloads(t, other, "") // of another database
	if woken != 2 || !slices.Equal(elsewhere, []string{"early", "late"}) {
		t.Errorf("woken %d times, elsewhere %v", woken, elsewhere)
	}
}

// TestMissed ends the sessions that listen, each once.
func TestMissed(t *testing.T) {
	h, ended := NewHub(nil), 0
	l := h.Session(5, 1, nil, func(*pgerr.Error) { ended++ })
	h.Session(5, 2, nil, func(*pgerr.Error) { t.Error("a session that does not listen was ended") })
	commit(t, l, 1, nil, func(p *Pending) { p.Listen("x", true); p.Listen("y", true) })
	h.Missed()
	if ended != 1 {
		t.Errorf("ended %d times", ended)
	}
}

// TestUnlisten drops what waits, and makes room in the queue.
func TestUnlisten(t *testing.T) {
	h := NewHub(nil)
	l := h.Session(5, 1, nil, nil)
	commit(t, l, 1, nil, listenX)
	for n := 0; h.Usage() < 1; n++ {
		h.Deliver([]Notification{{Database: 5, Channel: "x", Payload: strings.Repeat("x", 1<<20)}})
	}
	var p Pending
	say("one more")(&p)
	if _, err := p.Announce(l); !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Errorf("with a full queue: %v", err)
	}
	l.UnlistenAll()
	if h.Usage() != 0 || len(l.Take()) != 0 {
		t.Errorf("usage %v after UNLISTEN *", h.Usage())
	}
}
