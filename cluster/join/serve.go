package join

import (
	"context"
	"errors"
	"log/slog"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/cluster/trust"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Host is what the node that is asked decides with.
type Host struct {
	// Signer returns the authority that signs at present.
	Signer func() (*trust.Authority, error)
	// Roots returns the authorities that are trusted.
	Roots func() (*trust.Roots, error)
	// Redeem takes the token that a secret belongs to (trust.Grant.Redeem), and returns the number
	// and name of the node: a new one, or the one that the same key got before. Both happen at
	// once, or nothing. Its refusals are for the operator of the new node.
	Redeem func(ctx context.Context, secret, keyHash []byte, info *pb.NodeInfo) (node uint32, name string, err error)
	// Announce records a node's description of itself in the list of nodes.
	Announce func(ctx context.Context, node uint32, info *pb.NodeInfo) error
	// Report returns what this node trusts, and by what it is trusted.
	Report func() trust.Report
	// Contacts returns where nodes are reached.
	Contacts func() []*pb.Contact
	Now      func() time.Time
	Logger   *slog.Logger
}

// Register offers joining to strangers and renewal to members.
func (h *Host) Register(joining, members grpc.ServiceRegistrar) {
	pb.RegisterJoinServer(joining, &joinServer{host: h})
	pb.RegisterMembershipServer(members, &memberServer{host: h})
}

type joinServer struct {
	pb.UnimplementedJoinServer
	host *Host
}

// Join implements the service.
func (s *joinServer) Join(ctx context.Context, r *pb.JoinRequest) (*pb.JoinResponse, error) {
	h := s.host
	hash, err := trust.KeyHash(r.CertificateRequest)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	// Before the token is taken: what is refused here may be tried again with it.
	signer, roots, err := h.ready()
	if err != nil {
		return nil, err
	}
	if r.Info == nil {
		r.Info = &pb.NodeInfo{}
	}
	node, name, err := h.Redeem(ctx, r.Secret, hash, r.Info)
	if err != nil {
		code := codes.Unavailable
		if isToken(err) || errors.As(err, new(*Denied)) {
			code = codes.PermissionDenied
		}
		h.Logger.Warn("a node was not let in", "addr", r.Info.NodeAddr, "reason", err)
		return nil, status.Error(code, err.Error())
	}
	chain, err := signer.Issue(r.CertificateRequest, node, h.Now())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	h.Logger.Info("a node was let in", "node", node, "name", name, "addr", r.Info.NodeAddr)
	return &pb.JoinResponse{Node: node, Name: name, Chain: chain, Roots: roots.DER(), Contacts: h.Contacts()}, nil
}

// ready returns what signing needs.
func (h *Host) ready() (*trust.Authority, *trust.Roots, error) {
	signer, err := h.Signer()
	if err != nil {
		return nil, nil, status.Error(codes.Unavailable, "this node cannot sign certificates at present: "+err.Error())
	}
	roots, err := h.Roots()
	if err != nil {
		return nil, nil, status.Error(codes.Unavailable, "this node cannot sign certificates at present: "+err.Error())
	}
	return signer, roots, nil
}

// Denied is a refusal by Redeem that every node of the cluster would return.
type Denied struct{ Text string }

func (d *Denied) Error() string { return d.Text }

func isToken(err error) bool {
	return errors.Is(err, trust.ErrTokenUnknown) || errors.Is(err, trust.ErrTokenUsed) ||
		errors.Is(err, trust.ErrTokenExpired)
}

type memberServer struct {
	pb.UnimplementedMembershipServer
	host *Host
}

// Renew implements the service.
func (s *memberServer) Renew(ctx context.Context, r *pb.RenewRequest) (*pb.RenewResponse, error) {
	h := s.host
	who, ok := transport.PeerOf(ctx)
	if !ok {
		return nil, status.Error(codes.PermissionDenied, "certificates are renewed for nodes of the cluster")
	}
	signer, roots, err := h.ready()
	if err != nil {
		return nil, err
	}
	chain, err := signer.Issue(r.CertificateRequest, who.Node, h.Now())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &pb.RenewResponse{Chain: chain, Roots: roots.DER()}, nil
}

// Announce implements the service.
func (s *memberServer) Announce(ctx context.Context, info *pb.NodeInfo) (*pb.AnnounceResponse, error) {
	who, ok := transport.PeerOf(ctx)
	if !ok {
		return nil, status.Error(codes.PermissionDenied, "only nodes of the cluster are listed")
	}
	if err := s.host.Announce(ctx, who.Node, info); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return &pb.AnnounceResponse{}, nil
}

// Certificates implements the service.
func (s *memberServer) Certificates(context.Context, *pb.CertificatesRequest) (*pb.CertificatesReport, error) {
	if s.host.Report == nil {
		return nil, status.Error(codes.Unimplemented, "this node does not report its certificates")
	}
	r := s.host.Report()
	out := &pb.CertificatesReport{Issuer: r.Issuer[:]}
	for _, f := range r.Trusts {
		out.Trusts = append(out.Trusts, f[:])
	}
	return out, nil
}

// Certificates asks the node behind a connection by what it is trusted, and whom it trusts.
func Certificates(ctx context.Context, cc grpc.ClientConnInterface, options ...grpc.CallOption) (trust.Report, error) {
	a, err := pb.NewMembershipClient(cc).Certificates(ctx, &pb.CertificatesRequest{}, options...)
	if err != nil {
		return trust.Report{}, err
	}
	out := trust.Report{}
	copy(out.Issuer[:], a.Issuer)
	for _, f := range a.Trusts {
		if len(f) == len(trust.Fingerprint{}) {
			out.Trusts = append(out.Trusts, trust.Fingerprint(f))
		}
	}
	return out, nil
}
