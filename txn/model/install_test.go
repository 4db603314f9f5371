package model

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/explore"
)

// The second model is of one replica that installs the rows of a large commit in the background
// (storage/install.go). Its log has three entries: the large transaction's part, its commit at time
// 1, which puts rows a and b, and a small commit at time 2, which deletes a. What the replica
// writes to its database is a sequence of which a crash leaves some beginning; checkpoints are in
// it. A leader makes the small transaction's entry after it has locked and read row a; a follower
// finds it in its log.

// installRules can be dropped, one at a time.
type installRules struct {
	reader     bool // a read does not look for rows that are on their way
	locker     bool // neither does one who has locked such a row
	checkpoint bool // a checkpoint does not name what is not installed yet
	log        bool // the log is cut without regard to it
	restart    bool // a restart serves before it has gone on
	discard    bool // versions are discarded above it
	named      bool // versions are discarded above it when it is done, and a checkpoint names it
	done       bool // it counts as installed before its last row is written
	versions   bool // a row in a piece counts more than any version in the database
	again      bool // a reader does not look again when the row's piece has come to the database meanwhile
}

// What is written to the database.
const (
	rowA1 uint8 = iota + 1
	rowB1
	rowA2     // the deletion
	dropA2    // a compaction has dropped it, with all that is older
	saved     // a checkpoint of the first entries; + 4 where it names the installation
	maxWrites = 10
)

const (
	entryPart = iota + 1
	entryLarge
	entrySmall
)

// replica is everything.
type replica struct {
	db         [maxWrites]uint8 // in the order of the writes
	n          uint8            // of db
	durable    uint8            // the first of these are in tables
	logged     uint8            // entries in the log
	cut        uint8            // of which the first are gone
	applied    uint8
	rows       uint8 // of the large commit, that the installer has written
	installing bool
	follower   bool
	crashed    bool // once
	restarted  bool // it has not gone on with what the checkpoint named
	stale      bool // the small transaction has deleted a row that it has not seen
	broken     bool // a restart finds too little
	picked     bool // a reader at 2 has found row a in its piece, and not looked at the database yet
	misread    bool // it has seen the row, which is deleted
}

func (s *replica) write(x uint8) {
	if s.n < maxWrites {
		s.db[s.n] = x
		s.n++
	}
}

// visible tells which rows a read at time T finds.
func (s *replica) visible(T uint8) (a, b bool) {
	deleted := false
	for _, x := range s.db[:s.n] {
		switch x {
		case rowA1:
			a = true
		case rowB1:
			b = true
		case rowA2:
			deleted = true
		case dropA2:
			a, deleted = false, false
		}
	}
	return a && (T < 2 || !deleted), b
}

// read tells which rows a read of single rows finds: those in the database, and while they are on their way those in the pieces of the log, unless
// the database has a later version.
func (s *replica) read(T uint8, r installRules) (a, b bool) {
	a, b = s.visible(T)
	if !s.installing || s.applied < entryLarge {
		return a, b
	}
	return !s.deleted(T) || r.versions, true
}

// deleted tells whether the database has the deletion of row a at T.
func (s *replica) deleted(T uint8) (yes bool) {
	for _, x := range s.db[:s.n] {
		yes = T >= 2 && (yes || x == rowA2) && x != dropA2
	}
	return yes
}

// mayDiscard reports whether a compaction may drop the deletion and the row below it. A restart from a checkpoint that names the installation writes
// the row once more.
func (s *replica) mayDiscard(r installRules) bool {
	entries, names := s.last()
	return r.discard || !s.installing && (r.named || entries >= entrySmall && !names)
}

// look is what the reader does that has found row a in its piece. It looks again if the piece has come to the database meanwhile.
func (s *replica) look(r installRules) {
	s.picked = false
	if s.installing || r.again {
		s.misread = !s.deleted(2) || r.versions
	}
}

func (s *replica) apply() {
	s.applied++
	switch s.applied {
	case entryLarge:
		s.installing, s.rows = true, 0
	case entrySmall:
		s.write(rowA2)
	}
}

func (s *replica) install(r installRules) {
	switch s.rows {
	case 0:
		s.write(rowA1)
	case 1:
		s.write(rowB1)
	}
	if s.rows++; s.rows == 2 || r.done && s.rows == 1 {
		s.installing = s.rows < 2 && !r.done
	}
}

func (s *replica) save(r installRules) {
	x := saved + s.applied
	if s.installing && !r.checkpoint {
		x += 4
	}
	s.write(x)
}

// last gives the newest durable checkpoint: entries, and whether it names the installation.
func (s *replica) last() (entries uint8, names bool) {
	for _, x := range s.db[:s.durable] {
		if x >= saved {
			entries, names = (x-saved)%4, (x-saved) >= 4
		}
	}
	return entries, names
}

// crash leaves what is durable, and starts again from the checkpoint there.
func (s *replica) crash(r installRules) {
	s.n = s.durable
	for i := s.n; i < maxWrites; i++ {
		s.db[i] = 0
	}
	s.crashed, s.rows, s.picked = true, 0, false
	s.applied, s.installing = s.last()
	if s.installing || s.applied < entryLarge {
		s.broken = s.broken || s.cut >= entryPart // its rows are in the log
	}
	s.broken = s.broken || s.cut > s.applied
	s.restarted = s.installing
	if s.installing && !r.restart { // it goes on before it serves
		for s.installing {
			s.install(installRules{})
		}
		s.restarted = false
	}
	if r.restart {
		s.installing = false // nobody is told to wait
	}
}

// cutLog lets the log go as far as a durable checkpoint allows.
func (s *replica) cutLog(r installRules) {
	entries, names := s.last()
	if (names || entries < entryLarge) && !r.log {
		return // the part is read again
	}
	s.cut = max(s.cut, entries)
}

type installDo func(text string, change func(*replica))

func (s replica) next(r installRules, do installDo) {
	if s.broken {
		return
	}
	if s.logged < entryLarge || s.follower && s.logged < entrySmall {
		do("an entry is logged", func(t *replica) { t.logged++ })
	}
	if s.logged == entryLarge && s.applied == entryLarge && !s.follower {
		do("the small transaction locks a, reads it, and commits", func(t *replica) {
			a, _ := t.read(1, r)
			if r.locker {
				a, _ = t.visible(1)
			}
			t.stale = !a
			t.logged++
		})
	}
	if s.applied < s.logged && s.applied >= s.cut {
		do("an entry is applied", func(t *replica) { t.apply() })
	}
	if s.rows < 2 && (s.installing || s.applied >= entryLarge && (r.done || s.restarted)) {
		do("a row is installed", func(t *replica) { t.install(r) })
	}
	if s.n > 0 && s.durable < s.n {
		do("a write is in tables", func(t *replica) { t.durable++ })
	}
	if s.applied > 0 && s.n < maxWrites-4 && (s.n == 0 || s.db[s.n-1] < saved) {
		do("a checkpoint", func(t *replica) { t.save(r) })
	}
	if entries, _ := s.last(); entries > s.cut {
		do("the log is cut", func(t *replica) { t.cutLog(r) })
	}
	if s.applied == entrySmall && s.mayDiscard(r) && s.n < maxWrites-2 && s.deleted(2) {
		do("a compaction drops the deletion", func(t *replica) { t.write(dropA2) })
	}
	if s.installing && s.applied == entrySmall && !s.picked {
		do("a reader finds a in its piece", func(t *replica) { t.picked = true })
	}
	if s.picked {
		do("the reader looks at the database", func(t *replica) { t.look(r) })
	}
	if !s.crashed {
		do("a crash", func(t *replica) { t.crash(r) })
	}
}

// wrong reads a and b at both times.
func (s *replica) wrong(r installRules) string {
	switch {
	case s.broken:
		return "a restart does not find the rows in the log"
	case s.stale:
		return "the small transaction has not seen row a"
	case s.misread:
		return "a reader takes a deleted row from its piece"
	case s.applied < entryLarge:
		return ""
	}
	read := func(T uint8) (a, b bool) {
		if r.reader {
			return s.visible(T)
		}
		return s.read(T, r)
	}
	dropped := false
	for _, x := range s.db[:s.n] {
		dropped = dropped || x == dropA2 // then nobody reads at 1 any more
	}
	if a, b := read(1); !dropped && (!a || !b) {
		return "a read at 1 does not see all rows of the large commit"
	}
	if a, b := read(2); s.applied == entrySmall && (a || !b) {
		return "a read at 2 sees what was deleted, or misses a row"
	}
	return ""
}

func exploreInstall(r installRules) explore.Result {
	return explore.Model[replica]{
		Start: []replica{{}, {follower: true}},
		Next: func(s replica, do func(t replica, format string, args ...uint8)) {
			s.next(r, func(text string, change func(*replica)) {
				t := s
				change(&t)
				do(t, text)
			})
		},
		Wrong: func(s replica) string { return s.wrong(r) },
	}.Run()
}

func TestInstallation(t *testing.T) {
	whole := exploreInstall(installRules{})
	if whole.Wrong != "" {
		t.Fatal(whole)
	}
	t.Log(whole)
	for name, r := range map[string]installRules{
		"readers look at pieces":          {reader: true},
		"lockers look at pieces":          {locker: true},
		"checkpoints name it":             {checkpoint: true},
		"the log is held":                 {log: true},
		"a restart goes on":               {restart: true},
		"nothing is discarded above it":   {discard: true},
		"nor when a checkpoint names it":  {named: true},
		"it ends with the last row alone": {done: true},
		"the later version counts":        {versions: true},
		"readers look again":              {again: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := exploreInstall(r)
			if got.Wrong == "" {
				t.Fatal("nothing goes wrong without the rule")
			}
			if strings.Contains(got.Wrong, "row a") && !r.locker {
				t.Errorf("another rule fails: %s", got.Wrong)
			}
			t.Log(got)
		})
	}
}
