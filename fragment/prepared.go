package fragment

import (
	"context"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// prepareTransaction is the first step of PREPARE TRANSACTION. The home claims the name even if the
// transaction has done nothing there.
func (s *Server) prepareTransaction(
	ctx context.Context, c *Call, m *pb.PrepareTransactionRequest,
) (*pb.Response, error) {
	p, err := s.Begin(c, txn.ReadCommitted, 0)
	if err == nil {
		err = p.PrepareTransaction(ctx, storage.PreparationRequest{
			PreparationRequest: txn.PreparationRequest{
				GID: m.Gid, Owner: m.Owner, Database: m.Database,
				At: time.UnixMicro(m.AtMicros).UTC(), Floor: txn.Timestamp(m.Floor),
			},
			Home: m.Home, Writers: m.Writers, Reads: m.Reads,
		})
	}
	return &pb.Response{Buffer: p.Message()}, err
}

// handle returns the transaction's handle, and its leased part if it has one.
func (s *Server) handle(c *Call) (*storage.Tx, *LeasedPart) {
	if p := s.leases.get(c); p != nil {
		return p.Tx, p
	}
	return c.Replica.Tx(c.ID), nil
}

func (s *Server) completePrepared(c *Call) (*pb.Response, error) {
	tx, p := s.handle(c)
	err := tx.CompletePreparation()
	return &pb.Response{Buffer: p.Message()}, err
}

func (s *Server) dropPrepared(c *Call) (*pb.Response, error) {
	err := c.Replica.Outcomes.DropPrepared(c.ID)
	return &pb.Response{Buffer: s.leases.get(c).Message()}, err
}

// detachPrepared leaves the prepared part to the log.
func (s *Server) detachPrepared(c *Call) (*pb.Response, error) {
	tx, p := s.handle(c)
	if tx.Detach(); p != nil {
		s.leases.forget(p)
	}
	return &pb.Response{}, nil
}

// findPrepared fails unless this leader is ready to commit the prepared transaction.
func (c *Call) findPrepared() (*pb.Response, error) {
	_, err := c.Replica.PreparedTx(c.ID)
	return &pb.Response{}, err
}

func (c *Call) preparedStands(ctx context.Context) (*pb.Response, error) {
	return yes(c.Replica.Outcomes.PreparationStands(ctx, c.ID))
}

func (c *Call) preparedTables() (*pb.Response, error) {
	tables, err := c.Replica.Outcomes.PreparedTables(c.ID)
	return &pb.Response{Result: &pb.Response_Tables{Tables: &pb.TablesAnswer{Tables: tables}}}, err
}

func (c *Call) listPrepared() (*pb.Response, error) {
	list, err := c.Replica.Outcomes.PreparedTransactions()
	a := &pb.PreparedAnswer{}
	for _, x := range list {
		a.Transactions = append(a.Transactions, &pb.PreparedTransaction{
			Transaction: x.ID[:], Gid: x.GID, Owner: x.Owner, Database: x.Database,
			AtMicros: microsOf(x.At), Floor: uint64(x.Floor), Fragments: x.Fragments,
		})
	}
	return &pb.Response{Result: &pb.Response_Prepared{Prepared: a}}, err
}

func microsOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
