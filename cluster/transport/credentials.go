package transport

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/sherddb/sherd/cluster/trust"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
)

// greeted is the credentials of connections after TLS and the handshake.
type greeted struct{}

// authInfo is what gRPC keeps of them for its services.
type authInfo struct {
	credentials.CommonAuthInfo
	conn *Conn
}

// AuthType implements credentials.AuthInfo.
func (authInfo) AuthType() string { return "sherd" }

func handshaken(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	g, ok := c.(*Conn)
	if !ok {
		return nil, nil, errors.New("connection was not greeted")
	}
	return c, authInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}, g}, nil
}

// ClientHandshake implements credentials.TransportCredentials.
func (greeted) ClientHandshake(_ context.Context, _ string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return handshaken(c)
}

// ServerHandshake implements credentials.TransportCredentials.
func (greeted) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return handshaken(c)
}

// Info implements credentials.TransportCredentials.
func (greeted) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "sherd"}
}

// Clone implements credentials.TransportCredentials.
func (g greeted) Clone() credentials.TransportCredentials { return g }

// OverrideServerName implements credentials.TransportCredentials.
func (greeted) OverrideServerName(string) error { return nil }

// PeerOf returns the node that makes a call; ok is false if the caller is joining.
func PeerOf(ctx context.Context) (p trust.Peer, ok bool) {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return p, false
	}
	info, ok := from.AuthInfo.(authInfo)
	if !ok || info.conn.Peer.Node == 0 {
		return p, false
	}
	return info.conn.Peer, true
}

// MemberOptions are the options of the server for nodes of the cluster.
func MemberOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(greeted{}), grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage),
		grpc.InitialWindowSize(streamWindow), grpc.InitialConnWindowSize(connWindow),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 3 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second,
			PermitWithoutStream: true}),
	}
}

// JoinOptions are the options of the server for nodes that join: small limits, and short
// connections.
func JoinOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(greeted{}), grpc.MaxRecvMsgSize(64 << 10), grpc.MaxConcurrentStreams(1),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: time.Minute,
			MaxConnectionAgeGrace: 10 * time.Second}),
	}
}
