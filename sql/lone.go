package sql

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// loneAnswer keeps what a statement answers that is all of its transaction, until that has committed: where the commit meets a conflict, as with rows
// that have moved to another fragment meanwhile, nobody has seen anything, and it is run again. A long answer is passed on as it comes.
type loneAnswer struct {
	ResultWriter
	held heldAnswer
	tag  string
}

// Row implements ResultWriter.
func (a *loneAnswer) Row(row []types.Datum) error { return a.held.add(row) }

// Notice implements ResultWriter. A client that has been told of something does not hear of it again.
func (a *loneAnswer) Notice(n *pgerr.Error) error {
	if err := a.held.pass(); err != nil {
		return err
	}
	return a.ResultWriter.Notice(n)
}

// Complete implements ResultWriter.
func (a *loneAnswer) Complete(tag string) error {
	a.tag = tag
	return nil
}

// runLone runs a statement that writes, of the extended protocol, together with its commit, which Sync would ask for at once.
func (s *Session) runLone(ctx context.Context, p *portal, prog *program, w ResultWriter) error {
	a := &loneAnswer{ResultWriter: w}
	a.held.emit = w.Row
	for n := 1; ; n++ {
		err := s.withinTime(ctx, func(ctx context.Context) error { return s.runQuery(ctx, prog, p.args, a) })
		if err != nil && !cutOff(err) {
			return err
		}
		if err == nil {
			err = s.commit(ctx)
		}
		if err == nil {
			if err := a.held.pass(); err != nil {
				return err
			}
			return w.Complete(a.tag)
		}
		if a.held.passed || n >= maxCommits || !pgerr.Is(err, pgerr.SerializationFailure) || !sleep(ctx, pause) {
			return err
		}
		s.fail()
		a.held.drop()
		s.begin().pipeline = true
		if prog, err = s.refresh(ctx, p.st); err != nil {
			return err
		}
	}
}

// withinTime runs something no longer than statement_timeout allows.
func (s *Session) withinTime(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := s.timed(ctx)
	defer cancel()
	return run(ctx)
}
