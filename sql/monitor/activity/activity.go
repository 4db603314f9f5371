package activity

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/tx"
)

// askTimeout bounds an answer. Reports are made of what is in memory.
const askTimeout = 3 * time.Second

// Config says whose side it is. All fields are required.
type Config struct {
	Self   uint32
	Port   *transport.Port
	Nodes  func() []uint32        // of the cluster; this one may be among them
	Silent func(node uint32) bool // whether asking a node is useless
	Gone   func(node uint32) bool // whether it has not been heard of for so long that what its sessions held is gone
	Name   func(node uint32) string
	Exists func(node uint32) bool // whether the cluster has the node
}

// Sessions is what a Net serves to others: a node's sessions.
type Sessions struct {
	Report   func(wanted monitor.Wanted) monitor.Report
	Signal   func(ctx context.Context, s monitor.Signal) (monitor.SignalResult, error)
	Snapshot func(id string) (x tx.ExportedSnapshot, ok bool) // that a transaction has exported
	Cancel   func(pid, secret uint32)                         // a client's request
}

// Net is a node's side. All methods may be called concurrently.
type Net struct {
	pb.UnimplementedActivityServer
	cfg      Config
	sessions atomic.Pointer[Sessions]
}

// New makes the net of a node and registers its service.
func New(cfg Config, members grpc.ServiceRegistrar) *Net {
	n := &Net{cfg: cfg}
	pb.RegisterActivityServer(members, n)
	return n
}

// Serve lets other nodes ask.
func (n *Net) Serve(s Sessions) { n.sessions.Store(&s) }

func (n *Net) served() (*Sessions, error) {
	if s := n.sessions.Load(); s != nil {
		return s, nil
	}
	return nil, status.Error(codes.Unavailable, "the node is starting")
}

func (n *Net) client(node uint32) (pb.ActivityClient, error) {
	link, err := n.cfg.Port.Link(node, transport.TaskLink)
	if err != nil {
		return nil, err
	}
	return pb.NewActivityClient(link), nil
}

// Reports asks all other nodes at the same time, and names those that did not answer.
func (n *Net) Reports(ctx context.Context, wanted monitor.Wanted) (out []monitor.Report, absent []monitor.Absent) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	nodes := slices.DeleteFunc(slices.Clone(n.cfg.Nodes()), func(x uint32) bool { return x == n.cfg.Self })
	answers := make([]*pb.ReportAnswer, len(nodes))
	var asking sync.WaitGroup
	for i, node := range nodes {
		if n.cfg.Silent(node) {
			continue
		}
		asking.Go(func() {
			if client, err := n.client(node); err == nil {
				answers[i], _ = client.Report(ctx, &pb.ReportRequest{Wanted: uint32(wanted)}, grpc.WaitForReady(true))
			}
		})
	}
	asking.Wait()
	for i, a := range answers {
		switch node := nodes[i]; {
		case a != nil:
			out = append(out, fromReport(a))
		case n.cfg.Exists(node): // it was not removed meanwhile
			absent = append(absent, monitor.Absent{Name: n.cfg.Name(node), Gone: n.cfg.Gone(node)})
		}
	}
	return out, absent
}

// Report implements the service.
func (n *Net) Report(_ context.Context, r *pb.ReportRequest) (*pb.ReportAnswer, error) {
	s := n.sessions.Load()
	if s == nil {
		return &pb.ReportAnswer{}, nil // the node is starting: it has no sessions yet, and serves no fragment
	}
	report := s.Report(monitor.Wanted(r.Wanted))
	return toReport(&report), nil
}

// Send delivers a signal to the node of a session. 57P03 if that node does not answer.
func (n *Net) Send(ctx context.Context, x monitor.Signal) (monitor.SignalResult, error) {
	node := monitor.NodeOfPID(x.PID)
	if !n.cfg.Exists(node) {
		return monitor.SignalResult{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout+x.Timeout)
	defer cancel()
	client, err := n.client(node)
	if err != nil {
		return monitor.SignalResult{}, err
	}
	a, err := client.Signal(ctx, &pb.SignalRequest{
		Session: x.PID, Terminate: x.Terminate, TimeoutMicros: x.Timeout.Microseconds(), Role: x.Role,
	})
	switch {
	case err != nil:
		return monitor.SignalResult{}, pgerr.New(pgerr.CannotConnectNow,
			"node %d, to which process %d belongs, does not answer", node, x.PID)
	case a.Sqlstate != "":
		return monitor.SignalResult{}, pgerr.New(a.Sqlstate, "%s", a.Message)
	}
	return monitor.SignalResult{Known: a.Known, Done: a.Done}, nil
}

// Signal implements the service.
func (n *Net) Signal(ctx context.Context, r *pb.SignalRequest) (*pb.SignalAnswer, error) {
	s, err := n.served()
	if err != nil {
		return nil, err
	}
	done, err := s.Signal(ctx, monitor.Signal{
		PID: r.Session, Terminate: r.Terminate, Timeout: time.Duration(r.TimeoutMicros) * time.Microsecond,
		Role: r.Role,
	})
	a := &pb.SignalAnswer{Known: done.Known, Done: done.Done}
	if err != nil {
		e := pgerr.From(err)
		a.Sqlstate, a.Message = e.Code, e.Message
	}
	return a, nil
}

// Forward sends a client's cancel request to the node of its session. It does not wait, and the
// outcome is not reported.
func (n *Net) Forward(pid, secret uint32) {
	node := monitor.NodeOfPID(pid)
	if node == n.cfg.Self || !n.cfg.Exists(node) {
		return
	}
	client, err := n.client(node)
	if err != nil {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		_, _ = client.CancelRequest(ctx, &pb.ClientCancel{Session: pid, Secret: secret})
	}()
}

// CancelRequest implements the service.
func (n *Net) CancelRequest(_ context.Context, r *pb.ClientCancel) (*pb.ClientCancelAnswer, error) {
	s, err := n.served()
	if err != nil {
		return nil, err
	}
	s.Cancel(r.Session, r.Secret)
	return &pb.ClientCancelAnswer{}, nil
}
