package transport

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"time"

	"github.com/sherddb/sherd/cluster/trust"
	"google.golang.org/grpc"
)

// Join connects to a node of the cluster that a join token names, whichever node answers at addr.
// Only the join service is available there. dial is as in Config.
func Join(ctx context.Context, addr string, token trust.Token, version Version, now func() time.Time,
	dial func(ctx context.Context, addr string) (net.Conn, error)) (*grpc.ClientConn, error) {
	k := caller{
		version: version, clusterID: token.ClusterID(), protocol: joinProtocol,
		verify: func(chain []*x509.Certificate) (trust.Peer, error) { return trust.VerifyPinned(chain, token, now()) },
		dial:   dialOrTCP(dial),
	}
	c, err := k.connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	once := make(chan *Conn, 1)
	once <- c
	cc, err := grpc.NewClient("passthrough:///node", grpc.WithTransportCredentials(greeted{}),
		grpc.WithDisableServiceConfig(), grpc.WithNoProxy(),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			select {
			case c := <-once:
				return c, nil
			default:
				return nil, fmt.Errorf("the node at %s closed the connection", addr)
			}
		}))
	if err != nil {
		c.Close()
	}
	return cc, err
}
