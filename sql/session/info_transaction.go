package session

import (
	"strconv"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/txn"
)

// TransactionID implements builtin.ActivityInfo: transactions have ids of 128 bits, and this
// returns 62 of them. A transaction that has written nothing has no id until it asks for one.
func (i info) TransactionID(assign bool) (id uint64, ok bool, err error) {
	t := i.block.Tx
	if t == nil || t.Parts == nil {
		return 0, false, nil
	}
	if t.Named = t.Named || assign; !t.Named && !t.Parts.HasWrites() {
		return 0, false, nil
	}
	n := t.Parts.ID()
	id = monitor.ShortID(n)
	i.node.TransactionIDs.Add(id, n)
	return id, true, nil
}

// Snapshot implements builtin.ActivityInfo: a snapshot is a timestamp, so no transaction is in
// progress within it.
func (i info) Snapshot() string {
	var at uint64
	if i.block.Tx != nil {
		at = uint64(max(i.block.Tx.At, i.block.Tx.Read))
	}
	n := strconv.FormatUint(at, 10)
	return n + ":" + n + ":"
}

// ExportSnapshot implements builtin.TransactionInfo.
func (i info) ExportSnapshot() (string, error) {
	if i.block.Tx == nil || i.ctx == nil {
		return "", pgerr.Unsupported("pg_export_snapshot cannot run here")
	}
	return i.block.Tx.Export(i.ctx)
}

// TransactionName implements builtin.TransactionInfo.
func (i info) TransactionName() string {
	if i.block.Tx == nil || i.block.Tx.Parts == nil {
		return ""
	}
	return i.block.Tx.Parts.ID().String()
}

// TransactionOutcome implements builtin.TransactionInfo.
func (i info) TransactionOutcome(name string) (string, error) {
	id, known, err := i.node.TransactionIDs.Parse(name)
	switch {
	case err != nil:
		return "", err
	case !known:
		return txn.Unknown.String(), nil
	}
	if i.block.Tx != nil && i.block.Tx.Parts != nil && i.block.Tx.Parts.ID() == id {
		return txn.InProgress.String(), nil
	}
	if i.node.TransactionIDs.CommittedWithoutWrite(id) {
		return txn.Committed.String(), nil
	}
	outcome, _, err := i.node.Fragments.Outcome(i.statement(), i.database, id)
	return outcome.String(), err
}
