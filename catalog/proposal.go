package catalog

import (
	"errors"
	"fmt"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/pgerr"
)

// encodeAnswer encodes the result of a request, for another node.
func encodeAnswer(a applied, err error) ([]byte, error) {
	out := &pb.Answer{
		Version: a.version, FirstOid: a.first.oid, FirstFragment: a.first.fragment, FirstNode: a.first.node,
		FirstJob: a.first.job, FirstId: a.firstID,
		Outcome: uint32(a.outcome),
	}
	if err != nil {
		out.Refusal = refusalOf(err)
	}
	return marshal(out)
}

func refusalOf(err error) *pb.Refusal {
	r := &pb.Refusal{Message: err.Error()}
	var e *pgerr.Error
	if errors.As(err, &e) {
		r.Code, r.Message, r.Detail, r.Hint = e.Code, e.Message, e.Detail, e.Hint
		r.Schema, r.Table, r.Column, r.Constraint = e.Schema, e.Table, e.Column, e.Constraint
	}
	var busy *busyError
	switch {
	case errors.Is(err, errElsewhere):
		r.Kind = pb.Refusal_NOT_LEADER
	case errors.As(err, &busy):
		r.Kind, r.Transaction = pb.Refusal_BUSY, busy.id[:]
	case IsConflict(err):
		r.Kind = pb.Refusal_CONFLICT
	}
	return r
}

// decodeAnswer decodes the answer of another node: a result, or the error of a refusal.
func decodeAnswer(data []byte) (applied, error) {
	var p pb.Answer
	if err := unmarshal(data, &p, "answer"); err != nil {
		return applied{}, err
	}
	a := applied{
		version: p.GetVersion(), firstID: p.GetFirstId(), outcome: Outcome(p.GetOutcome()),
		first: counters{oid: p.GetFirstOid(), fragment: p.GetFirstFragment(), node: p.GetFirstNode(),
			job: p.GetFirstJob()},
	}
	if r := p.GetRefusal(); r != nil {
		return a, errorOf(r)
	}
	return a, nil
}

func errorOf(r *pb.Refusal) error {
	switch r.GetKind() {
	case pb.Refusal_NOT_LEADER:
		return errElsewhere
	case pb.Refusal_BUSY:
		id, err := decodeTransactionID(r.GetTransaction())
		if err != nil {
			return err
		}
		return &busyError{id}
	case pb.Refusal_CONFLICT:
		return conflict()
	}
	if r.GetCode() == "" {
		return errors.New(r.GetMessage())
	}
	return fmt.Errorf("the catalog's leader: %w", &pgerr.Error{
		Code: r.GetCode(), Message: r.GetMessage(), Detail: r.GetDetail(), Hint: r.GetHint(), Schema: r.GetSchema(),
		Table:  r.GetTable(),
		Column: r.GetColumn(), Constraint: r.GetConstraint(),
	})
}
