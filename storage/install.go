package storage

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/install"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/protocol"
)

// A large write set is installed apart from the applying goroutine, in pieces, so that the entries
// after its commit need not wait. Its entry applies, answers and remembers the commit as usual;
// only the rows come later. Each replica does this on its own: keys and versions follow from the
// log, and it does not matter when they are written, because:
//
//   - a reader or a locker of one row at or above the commit's time reads the row from its piece
//     (install_rows.go). Scans and validations wait for the pieces that may have their rows (T3),
//     which are installed at once. This wait is for no other transaction, so it ends. Drops, moves
//     and streams wait for all pieces,
//   - a checkpoint names what is not installed yet, and the log is not cut beyond its entries; a
//     restart installs it before it serves,
//   - no version is discarded above the time of such a commit (collector), and no span is deleted
//     to which it may write (dropper).
//
// Package txn/model has it as a model.
type lateRows struct {
	*install.Rows               // nil until it is known whether they have to be written
	o             *openTxn      // its pieces and keys; not changed any more
	version       txn.Timestamp // of the rows
	before        txn.Timestamp // pieces under own keys are read as they were below it
}

// inDatabase reports whether the rows are in the database.
func (x *lateRows) inDatabase() bool { return x.Rows != nil && x.Done() }

// installInline is the number of pieces up to which a write set is installed by the entry that
// commits it.
const installInline = 1

// later reports whether a committed transaction's rows are installed in the background.
func (o *openTxn) later() bool { return o.writes == nil && o.own+len(o.indexes) > installInline }

// installLater has the rows of o written in the background. Called by the entry that commits it.
func (m *machine) installLater(o *openTxn, at, version txn.Timestamp) {
	x := &lateRows{o: o, version: version, before: at}
	m.makeRows(x)
	m.s.installing = append(m.s.installing, x)
	m.effects.installing = append(m.effects.installing, x)
}

// collectInstalled forgets what has been installed, at the stamp of an entry. It deletes pieces
// under own keys, above every checkpoint that names them.
func (m *machine) collectInstalled(at txn.Timestamp) error {
	var err error
	m.s.installing = slices.DeleteFunc(m.s.installing, func(x *lateRows) bool {
		if !x.inDatabase() || err != nil {
			return false
		}
		// so that the next checkpoint comes soon: the log is kept until then
		m.bytes += int(x.Bytes())
		err = m.dropOwnPieces(x.o, at)
		return err == nil
	})
	return err
}

// remaining is an install as a checkpoint names it. The log must keep the entries in indexes.
type remaining struct {
	*lateRows
	indexes []uint64
}

// remaining lists the installs with work left after a restart: the rows are not there yet, or
// pieces under own keys are to be deleted. The installer works at the same time, so each install is
// looked at only once: the record of a checkpoint and its mark must not differ.
func (s *state) remaining() (list []remaining) {
	for _, x := range s.installing {
		switch {
		case !x.inDatabase():
			list = append(list, remaining{x, x.o.indexes})
		case x.o.own > 0:
			list = append(list, remaining{x, nil})
		}
	}
	return list
}

// appendInstalling appends what a checkpoint says of installs.
func appendInstalling(b []byte, list []remaining) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, x := range list {
		b = append(b, x.o.id[:]...)
		b = codec.AppendTimestamp(b, x.version)
		b = binary.AppendUvarint(b, uint64(x.o.own))
		b = appendLogIndexes(b, x.indexes)
	}
	return b
}

func readInstalling(r *codec.Reader, at txn.Timestamp) (list []*lateRows) {
	n := r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		x := &lateRows{o: &openTxn{id: r.ID()}, before: at + 1}
		x.version = r.Timestamp()
		x.o.own = r.Int()
		x.o.indexes = readLogIndexes(r)
		list = append(list, x)
	}
	return list
}

// finishInstalls writes the rows that a checkpoint or a stream has named, before clients are
// served. If the log was cut beyond an entry of an install, its rows are in tables: a mark keeps
// the log until the rows are written, and takes effect when a key that was written later is in a
// table. Checkpoints of earlier releases may name such entries.
func (m *machine) finishInstalls() error {
	cut := m.r.kept.CutAt()
	for _, x := range m.s.installing {
		m.makeRows(x)
		if i := x.o.indexes; len(i) > 0 && i[0] <= cut {
			x.SetDone()
		} else if err := m.r.installs.WriteAll([]*install.Rows{x.Rows}); err != nil {
			return err
		}
	}
	return nil
}

// makeRows makes what the installer writes.
func (m *machine) makeRows(x *lateRows) {
	pieces := &m.pieces
	x.Rows = install.NewRows(x.o.id, x.version, x.o.keys, x.o.own+len(x.o.indexes),
		func(n int) ([]byte, error) { return pieces.piece(x.o, n, x.before) })
}

// rowsOf returns what the installer has to write.
func rowsOf(list []*lateRows) (out []*install.Rows) {
	for _, x := range list {
		out = append(out, x.Rows)
	}
	return out
}

// newInstalling is what readers know of rows that are on their way.
func newInstalling(x *lateRows) *preparedTxn {
	x.o.keys.Seal()
	x.o.keys.SealPieces()
	p := &preparedTxn{id: x.o.id, Writer: protocol.Writer[txn.Timestamp]{C: x.version}, summary: x.o.keys,
		installing: true, resolved: make(chan struct{}), since: time.Now()}
	if all, _ := x.Pieces(); x.o.keys.Pieces() == all { // else all are waited for
		p.install = x.Rows
	}
	return p
}

// waitInstalled waits for the rows that were committed at or below T and may lie in a span.
func (r *rowReader) waitInstalled(ctx context.Context, T txn.Timestamp, span txn.Span) error {
	return r.waitResolved(ctx, nil, T, txn.ID{}, func(p *preparedTxn) bool { return p.installing && p.touches(span) })
}
