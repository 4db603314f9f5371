package catalog

import (
	"errors"
	"fmt"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"google.golang.org/protobuf/proto"
)

// formatV1 is the first byte of log entries and snapshots (V1): protobuf follows.
const formatV1 byte = 1

// marshal returns the format byte and the message. Maps are written in key order, so that equal
// states make equal files.
func marshal(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend([]byte{formatV1}, m)
}

// unmarshal parses the output of marshal; what names it in errors.
func unmarshal(data []byte, m proto.Message, what string) error {
	if len(data) == 0 {
		return fmt.Errorf("catalog: %s is empty", what)
	}
	if data[0] != formatV1 {
		return fmt.Errorf("catalog: %s has format %d, which this release of Sherd cannot read", what, data[0])
	}
	if err := proto.Unmarshal(data[1:], m); err != nil {
		return fmt.Errorf("catalog: %s is damaged: %w", what, err)
	}
	return nil
}

// logEntry is a decoded entry. At most one of prepare, decide and forget is set; if none is, the
// entry is a batch, or an allotment if ops is nil too.
type logEntry struct {
	ops     []op
	want    allotment
	prepare *prepared
	decide  *decision
	forget  *TransactionID
	commit  *outcome // with ops: the transaction that consists of them, nil if there is none
}

// decision is an entry that decides a prepared change.
type decision struct {
	id       TransactionID
	commitTS uint64
	commit   bool
	prepared bool // decided by the coordinator fragment of a prepared transaction
}

func encodeBatch(ops []op) ([]byte, error) {
	return encodeCommit(ops, nil)
}

func batchOf(ops []op) *pb.Batch {
	batch := &pb.Batch{}
	for _, o := range ops {
		p := &pb.Op{Expect: o.expect, NextId: o.nextID}
		ref := &pb.Ref{Kind: uint32(o.key.kind()), Id: o.key.id()}
		switch o.kind {
		case putOp:
			p.Kind = &pb.Op_Put{Put: encodeObject(0, o.desc)}
		case dropOp:
			p.Kind = &pb.Op_Drop{Drop: ref}
		case requireOp:
			p.Kind = &pb.Op_Require{Require: ref}
		}
		batch.Ops = append(batch.Ops, p)
	}
	return batch
}

func encodeAllotment(a allotment) ([]byte, error) {
	return marshal(&pb.Entry{Kind: &pb.Entry_Allocate{Allocate: &pb.Allocate{
		Oids: a.oids, Fragments: a.fragments, Nodes: a.nodes, Jobs: a.jobs, Table: a.table, Ids: a.ids,
	}}})
}

// decodeEntry reads a log entry.
func decodeEntry(data []byte) (logEntry, error) {
	var e pb.Entry
	if err := unmarshal(data, &e, "log entry"); err != nil {
		return logEntry{}, err
	}
	switch k := e.GetKind().(type) {
	case *pb.Entry_Allocate:
		a := k.Allocate
		return logEntry{want: allotment{
			oids: a.GetOids(), fragments: a.GetFragments(), nodes: a.GetNodes(), jobs: a.GetJobs(), table: a.GetTable(),
			ids: a.GetIds(),
		}}, nil
	case *pb.Entry_Batch:
		ops, err := decodeBatch(k.Batch)
		out := logEntry{ops: ops}
		if err == nil && len(k.Batch.GetTransaction()) > 0 {
			out.commit, err = decodeOutcome(k.Batch.GetTransaction(), k.Batch.GetCommitTs())
		}
		if err != nil {
			return logEntry{}, fmt.Errorf("catalog: log entry is damaged: %w", err)
		}
		return out, nil
	case *pb.Entry_Prepare, *pb.Entry_Decide, *pb.Entry_Forget:
		out, err := decodeTransactional(&e)
		if err != nil {
			return logEntry{}, fmt.Errorf("catalog: log entry is damaged: %w", err)
		}
		return out, nil
	}
	return logEntry{}, errors.New("catalog: log entry is of a kind that this release of Sherd cannot read")
}

func decodeBatch(b *pb.Batch) ([]op, error) {
	ops := []op{}
	for _, p := range b.GetOps() {
		o, err := decodeOp(p)
		if err != nil {
			return nil, err
		}
		ops = append(ops, o)
	}
	return ops, nil
}

func decodeOp(p *pb.Op) (op, error) {
	o := op{expect: p.GetExpect(), nextID: p.GetNextId()}
	if o.nextID > maxIDNumber {
		return op{}, fmt.Errorf("number %d for ids", o.nextID)
	}
	var ref *pb.Ref
	switch k := p.GetKind().(type) {
	case *pb.Op_Put:
		d, err := decodeObject(k.Put)
		if err != nil {
			return op{}, err
		}
		o.desc, o.key = d, keyOf(d)
		return o, nil
	case *pb.Op_Drop:
		o.kind, ref = dropOp, k.Drop
	case *pb.Op_Require:
		o.kind, ref = requireOp, k.Require
	default:
		return op{}, errors.New("step of an unknown kind")
	}
	kind := objectKind(ref.GetKind())
	if ref.GetKind() > uint32(lastObject) || kind < clusterObject || ref.GetId() > maxObjectID {
		return op{}, fmt.Errorf("reference to object %d of kind %d", ref.GetId(), ref.GetKind())
	}
	o.key = newKey(kind, ref.GetId())
	return o, nil
}
