package storage

import (
	"errors"
	"testing"

	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// TestReadsOfClosed: what is read by the way, for outcomes, locks and validation, is refused when
// the database is being closed: Badger's tables are out of memory then.
func TestReadsOfClosed(t *testing.T) {
	c := openCluster(t, tempDirs(t, 1))
	commitRow(t, c.rs[0], rowKey(1), "x")
	r := c.rs[0]
	T := current(t, r)
	wait := waitContext{ctx: t.Context()}
	if !r.rows.keptKeys(wait, rowKey(1), T) {
		t.Error("a row that nobody has changed has changed")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	id := txn.NewID()
	for name, read := range map[string]func() error{
		"outcome":     func() error { _, _, err := r.Outcomes.savedOutcome(id); return err },
		"decision":    func() error { _, err := r.Outcomes.outcomeOf(id, resAborted, nil); return err },
		"last delete": func() error { _, err := r.rows.lastDelete(wait, rowKey(1)); return err },
		"validation":  func() error { return (&validation{r: r, spans: []txn.Span{txn.Prefix(rowKey(1))}}).scan(T) },
	} {
		if err := read(); !errors.Is(err, proposer.ErrNotLeader) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r.rows.keptKeys(wait, rowKey(1), T) {
		t.Error("a closed replica says that nothing has changed")
	}
}
