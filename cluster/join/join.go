package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/cluster/trust"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Request names the node that wants to join, and the cluster.
type Request struct {
	Addrs   []string // of nodes of the cluster; one is enough
	Token   trust.Token
	Dir     string // where the key and the certificate are kept: DATA/certs
	Version transport.Version
	Info    *pb.NodeInfo
	Now     func() time.Time
	Dial    func(ctx context.Context, addr string) (net.Conn, error) // nil is TCP
	// Failed is called with the reason why a node could not be asked, before the next is asked. It
	// may be nil.
	Failed func(error)
}

// Joined is the result of Join.
type Joined struct {
	Keeper   *trust.Keeper
	Node     uint32
	Name     string
	Contacts []*pb.Contact
}

// Join asks the nodes one after another until one answers. A refusal by one is a refusal by all.
// Errors are sentences for the operator at the terminal. Join may be called again after any error.
func Join(ctx context.Context, r Request) (*Joined, error) {
	key, err := trust.PendingKey(r.Dir)
	if err != nil {
		return nil, err
	}
	request, err := key.Request()
	if err != nil {
		return nil, err
	}
	var errs []error
	for i, addr := range r.Addrs {
		answer, err := r.ask(ctx, addr, request)
		if err == nil {
			return r.keep(key, answer)
		}
		errs = append(errs, err)
		var refused *transport.Refused
		if errors.As(err, &refused) || errors.As(err, new(*denied)) || ctx.Err() != nil {
			break
		}
		if r.Failed != nil && i+1 < len(r.Addrs) {
			r.Failed(err)
		}
	}
	return nil, fmt.Errorf("cannot join the cluster: %w", errors.Join(errs...))
}

// denied is the refusal of a token.
type denied struct{ addr, text string }

func (d *denied) Error() string { return fmt.Sprintf("the node at %s refuses: %s", d.addr, d.text) }

func (r *Request) ask(ctx context.Context, addr string, request []byte) (*pb.JoinResponse, error) {
	cc, err := transport.Join(ctx, addr, r.Token, r.Version, r.Now, r.Dial)
	if err != nil {
		return nil, err
	}
	defer cc.Close()
	answer, err := pb.NewJoinClient(cc).Join(ctx, &pb.JoinRequest{Secret: r.Token.Secret(),
		CertificateRequest: request, Info: r.Info})
	if err != nil {
		s := status.Convert(err)
		if s.Code() == codes.PermissionDenied || s.Code() == codes.InvalidArgument {
			return nil, &denied{addr, s.Message()}
		}
		return nil, fmt.Errorf("the node at %s: %s", addr, s.Message())
	}
	return answer, nil
}

// keep verifies what was given and writes it down.
func (r *Request) keep(key trust.Key, a *pb.JoinResponse) (*Joined, error) {
	roots, err := trust.NewRoots(r.Token.ClusterID(), a.Roots)
	if err != nil {
		return nil, err
	}
	k, err := trust.CreateKeeper(r.Dir, key, a.Chain, roots, r.Now)
	if err != nil {
		return nil, err
	}
	if self := k.Self(); self.Node != a.Node {
		return nil, fmt.Errorf("the cluster gave number %d and a certificate for node %d", a.Node, self.Node)
	}
	return &Joined{Keeper: k, Node: a.Node, Name: a.Name, Contacts: a.Contacts}, trust.ForgetPending(r.Dir)
}
