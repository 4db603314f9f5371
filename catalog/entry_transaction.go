package catalog

import (
	"fmt"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
)

func encodePrepare(p *prepared) ([]byte, error) {
	return marshal(&pb.Entry{Kind: &pb.Entry_Prepare{Prepare: prepareOf(p)}})
}

func prepareOf(p *prepared) *pb.Prepare {
	out := &pb.Prepare{Transaction: p.id[:], Batch: batchOf(p.ops), Writers: p.writers}
	if p.transaction != nil {
		out.Held = &pb.Held{Home: p.transaction.home}
		for _, l := range p.transaction.locks {
			out.Held.Locks = append(out.Held.Locks, &pb.TableLock{Table: l.Table, Modes: l.Modes})
		}
	}
	return out
}

func encodeDecision(d decision) ([]byte, error) {
	return marshal(&pb.Entry{Kind: &pb.Entry_Decide{Decide: &pb.Decide{Transaction: d.id[:], Commit: d.commit,
		CommitTs: d.commitTS, Held: d.prepared}}})
}

func encodeForget(id TransactionID) ([]byte, error) {
	return marshal(&pb.Entry{Kind: &pb.Entry_Forget{Forget: &pb.Forget{Transaction: id[:]}}})
}

// decodeTransactional decodes the entries for prepare, decide and forget.
func decodeTransactional(e *pb.Entry) (logEntry, error) {
	switch k := e.GetKind().(type) {
	case *pb.Entry_Prepare:
		p, err := decodePrepare(k.Prepare)
		return logEntry{prepare: p}, err
	case *pb.Entry_Decide:
		id, err := decodeTransactionID(k.Decide.GetTransaction())
		return logEntry{decide: &decision{id, k.Decide.GetCommitTs(), k.Decide.GetCommit(), k.Decide.GetHeld()}}, err
	case *pb.Entry_Forget:
		id, err := decodeTransactionID(k.Forget.GetTransaction())
		return logEntry{forget: &id}, err
	}
	return logEntry{}, fmt.Errorf("entry of kind %T", e.GetKind())
}

func decodePrepare(p *pb.Prepare) (*prepared, error) {
	id, err := decodeTransactionID(p.GetTransaction())
	if err != nil {
		return nil, err
	}
	ops, err := decodeBatch(p.GetBatch())
	if err != nil {
		return nil, err
	}
	out := &prepared{id: id, writers: p.GetWriters(), ops: ops, holds: footprintOf(ops)}
	if h := p.GetHeld(); h != nil {
		out.transaction = &preparedTransaction{home: h.GetHome()}
		for _, l := range h.GetLocks() {
			out.transaction.locks = append(out.transaction.locks, TableLock{l.GetTable(), l.GetModes()})
		}
	}
	return out, nil
}

func decodeTransactionID(b []byte) (id TransactionID, err error) {
	if copy(id[:], b) != len(id) || len(b) != len(id) {
		err = fmt.Errorf("a transaction's name of %d bytes", len(b))
	}
	return id, err
}
