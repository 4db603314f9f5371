package raftlog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// logModel is the content of a group's log.
type logModel struct {
	first, last uint64
	data        map[uint64]string
	term        uint64
}

func (l logModel) equal(m logModel) bool {
	if l.term != m.term || l.last-l.first != m.last-m.first || l.last > 0 && l.first != m.first {
		return false
	}
	for i := l.first; i <= l.last && i > 0; i++ {
		if l.data[i] != m.data[i] {
			return false
		}
	}
	return true
}

// call is a call that changes a group's log.
type call struct {
	group  uint64
	do     func(*Group) error
	effect func(*logModel)
}

// simNode is a process with a device, and what that device has acknowledged.
type simNode struct {
	t       *testing.T
	what    string
	disk    *simDisk
	d       *Device
	groups  map[uint64]*Group
	acked   map[uint64]logModel
	pending *call // a call with unknown outcome
}

var simGroups = []uint64{1, 2}

const simSegment = 4 << 10

// start opens the device. The device must hold what was acknowledged, with or without the call of
// unknown outcome; what it holds counts as acknowledged from then on. start returns false if the
// planned fault kept it from opening.
func (n *simNode) start(disk *simDisk) bool {
	n.t.Helper()
	n.disk = disk
	o := Options{Dir: "log", SegmentSize: simSegment, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	d, err := openOn(disk, o)
	if err != nil {
		if disk.at == 0 || disk.step < disk.at {
			n.t.Fatalf("%s: %v", n.what, err)
		}
		return false
	}
	n.d, n.groups = d, map[uint64]*Group{}
	for _, id := range simGroups {
		n.groups[id] = openGroup(n.t, d, id)
		got := n.read(id)
		want := n.acked[id]
		if ok := want.equal(got); !ok && n.pending != nil && n.pending.group == id {
			want = want.clone()
			n.pending.effect(&want)
		}
		if !want.equal(got) {
			n.t.Fatalf("%s: group %d has entries %d to %d, term %d; acknowledged were %d to %d, term %d", n.what, id,
				got.first, got.last, got.term, want.first, want.last, want.term)
		}
		n.acked[id] = got
	}
	n.pending = nil
	return true
}

func (l logModel) clone() logModel {
	data := map[uint64]string{}
	for i := l.first; i <= l.last && i > 0; i++ {
		data[i] = l.data[i]
	}
	l.data = data
	return l
}

func (n *simNode) read(id uint64) (l logModel) {
	n.t.Helper()
	g := n.groups[id]
	l.first, _ = g.FirstIndex()
	l.last, _ = g.LastIndex()
	l.data = map[uint64]string{}
	for i := l.first; i <= l.last && i > 0; i++ {
		var e raft.Log
		if err := g.GetLog(i, &e); err != nil {
			n.t.Fatalf("%s: group %d entry %d: %v", n.what, id, i, err)
		}
		l.data[i] = string(e.Data)
	}
	var err error
	if l.term, err = g.GetUint64([]byte("term")); err != nil {
		n.t.Fatalf("%s: group %d: %v", n.what, id, err)
	}
	return l
}

// copyOf returns a node with the expectations of n.
func (n *simNode) copyOf(what string) *simNode {
	acked := map[uint64]logModel{}
	for id, l := range n.acked {
		acked[id] = l.clone()
	}
	return &simNode{t: n.t, what: what, acked: acked, pending: n.pending}
}

func (n *simNode) call(c call) {
	if n.pending != nil {
		return // the process is about to end
	}
	switch err := c.do(n.groups[c.group]); {
	case err == nil:
		l := n.acked[c.group]
		c.effect(&l)
		n.acked[c.group] = l
	case errors.Is(err, ErrUnknown) || n.disk.dead:
		n.pending = &c
	}
}

// add appends an entry of size bytes; its content begins with the term.
func (n *simNode) add(group uint64, size int) {
	i := n.acked[group].last + 1
	data := fmt.Sprint(n.d.round, strings.Repeat("x", size))
	n.call(call{group, func(g *Group) error { return g.StoreLog(entry(i, 1, data)) }, func(l *logModel) {
		if l.last = i; l.data == nil {
			l.data = map[uint64]string{}
		}
		l.data[i] = data
		l.first = max(l.first, 1)
	}})
}

// cut deletes all entries but the last few.
func (n *simNode) cut(group uint64, keep uint64) {
	upTo := n.acked[group].last - keep
	n.call(call{group, func(g *Group) error { return g.DeleteRange(0, upTo) }, func(l *logModel) {
		if l.first <= upTo {
			l.first = upTo + 1
		}
	}})
}

func (n *simNode) setTerm(group, term uint64) {
	do := func(g *Group) error { return g.SetUint64([]byte("term"), term) }
	n.call(call{group, do, func(l *logModel) { l.term = term }})
}

// clean does what the cleaner does when it is woken. It tries again what failed before.
func (n *simNode) clean() {
	if n.pending == nil {
		n.d.giveUp()
		n.d.makeSpare()
	}
}

// work makes the device begin segments with and without spare files, and a large one, and retire,
// empty and reuse them.
func (n *simNode) work() {
	n.setTerm(1, 1)
	n.add(1, 200)
	n.add(2, 300)
	n.clean()
	for range 3 {
		n.add(2, 1200)
	}
	n.add(2, simSegment) // into its own segment
	n.add(1, 100)
	n.cut(2, 1)
	n.clean()
	for i := range 4 {
		n.add(2, 1300)
		n.setTerm(2, uint64(i+1))
		n.cut(2, 1)
		n.clean()
	}
}

// workOn is a shorter work, for a process that starts on the disk of another.
func (n *simNode) workOn() {
	n.add(1, 50)
	n.add(2, 1200)
	n.add(2, simSegment)
	n.add(1, 50)
	n.cut(2, 1)
	n.clean()
	n.add(2, 1500)
	n.add(2, 1500)
	n.add(2, simSegment) // if its segment cannot be begun, the next goes into the one before
	n.add(1, 50)
}

// TestPowerLoss makes each step of a device on its disk fail, or be the last before a kill, or the
// last before a power loss, which undoes what was not synced; and after that each step of the next
// process. A device can be opened at the next start, and holds all that it has acknowledged or has
// reported after its start.
func TestPowerLoss(t *testing.T) {
	if testing.Short() { // the run with the race detector
		t.Skip("one goroutine does every step")
	}
	for at := 1; ; at++ {
		done := false
		for _, f := range faults {
			n := &simNode{
				t: t, what: fmt.Sprint("the first process was ", f, " step ", at), acked: map[uint64]logModel{},
			}
			disk := newSimDisk()
			disk.at, disk.fault = at, f
			if n.start(disk) {
				n.work()
			}
			done = disk.step < at
			n.losePower()
			n.goOn(f)
		}
		if done {
			t.Logf("%d steps", at-1)
			return
		}
	}
}

// losePower starts the device on every disk that a power loss may leave.
func (n *simNode) losePower() {
	n.t.Helper()
	for i, image := range n.disk.afterPowerLoss() {
		n.copyOf(fmt.Sprintf("%s, power loss %d", n.what, i)).start(image)
	}
}

// goOn starts the next process after a kill, with a fault at each of its steps.
func (n *simNode) goOn(first fault) {
	n.t.Helper()
	if first == killBefore { // the same as a kill after the step before, except for syncs
		return
	}
	for _, f := range []fault{killAfter, ioError} {
		for at := 1; ; at++ {
			c := n.copyOf(fmt.Sprint(n.what, ", the second ", f, " step ", at))
			disk := n.disk.afterKill()
			disk.at, disk.fault = at, f
			if c.start(disk) {
				c.workOn()
			}
			c.losePower()
			c.copyOf(c.what + ", a third").start(disk.afterKill())
			if disk.step < at {
				break
			}
		}
	}
}
