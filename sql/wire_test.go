package sql_test

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	execwire "github.com/sherddb/sherd/sql/exec/wire"
	"github.com/sherddb/sherd/sql/plan/wire"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/txn"
)

// sent are fragments that receive tasks as another node's fragments do: as bytes, with a session
// that knows only what is sent with them.
type sent struct {
	session.Fragments
	catalog *catalog.Catalog
}

// Begin implements session.Fragments.
func (s sent) Begin() exec.Transaction { return sentTransaction{s.Fragments.Begin(), s.catalog} }

type sentTransaction struct {
	exec.Transaction
	catalog *catalog.Catalog
}

// Fragment implements exec.Transaction.
func (s sentTransaction) Fragment(id txn.FragmentID) (exec.Fragment, error) {
	f, err := s.Transaction.Fragment(id)
	return sentFragment{f, s.catalog}, err
}

type sentFragment struct {
	exec.Fragment
	catalog *catalog.Catalog
}

// Run implements exec.Fragment.
func (f sentFragment) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	got, err := f.overTheWire(task)
	if other := (*wire.VersionError)(nil); errors.As(err, &other) {
		return f.Fragment.Run(ctx, task, emit) // the gateway would plan again
	}
	if err != nil {
		return exec.Result{}, err
	}
	return f.Fragment.Run(ctx, got, emit)
}

func (f sentFragment) overTheWire(task *exec.Task) (*exec.Task, error) {
	view := f.catalog.View()
	b, err := wire.EncodeDrafted(task.Plan, view)
	if err != nil {
		return nil, err
	}
	n, err := wire.Decode(view, b)
	if err != nil {
		return nil, err
	}
	out := task.WithPlan(n)
	if task.Session == nil {
		return out, nil
	}
	s, err := execwire.DecodeSession(execwire.AppendSession(nil, task.Session, wire.Settings(n)))
	if err != nil {
		return nil, err
	}
	out.Session = sentSession{Session: s, CatalogInfo: task.Session, DefinitionInfo: task.Session}
	return out, nil
}

// sentSession answers what the node of a fragment can answer. What only the gateway can answer is a
// panic, because the planner keeps it there.
type sentSession struct {
	*execwire.Session
	builtin.CatalogInfo
	builtin.DefinitionInfo
	builtin.PrivilegeInfo
	builtin.SequenceInfo
	builtin.SizeInfo
	builtin.ActivityInfo
	builtin.TransactionInfo
	builtin.LockInfo
	builtin.Gateway
}
