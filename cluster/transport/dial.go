package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/trust"
)

// caller is the connecting side, and what it knows about the node that it means to reach.
type caller struct {
	version   Version
	clusterID string
	protocol  string
	cert      *tls.Certificate // nil: a node that joins
	wants     uint32           // 0 any node
	verify    func(chain []*x509.Certificate) (trust.Peer, error)
	dial      func(ctx context.Context, addr string) (net.Conn, error)
}

// dialOrTCP returns dial, or TCP if it is nil.
func dialOrTCP(
	dial func(ctx context.Context, addr string) (net.Conn, error),
) func(ctx context.Context, addr string) (net.Conn, error) {
	if dial != nil {
		return dial
	}
	dialer := &net.Dialer{KeepAlive: 15 * time.Second}
	return func(ctx context.Context, addr string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", addr) }
}

// connect makes a connection and sends the handshake. Errors are sentences for the operator at the
// terminal.
func (k *caller) connect(ctx context.Context, addr string) (*Conn, error) {
	dialing, cancel := context.WithTimeout(ctx, handshakeTime) // packets may be dropped silently
	raw, err := k.dial(dialing, addr)
	cancel()
	if err != nil {
		return nil, fmt.Errorf("cannot reach a node at %s: %w", addr, err)
	}
	deadline := time.Now().Add(handshakeTime)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	raw.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	c, err := k.greet(raw, addr)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	raw.SetDeadline(time.Time{})
	return c, nil
}

func (k *caller) greet(raw net.Conn, addr string) (*Conn, error) {
	var peer trust.Peer
	conf := &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{k.protocol},
		// Nodes are identified by number and cluster, not by a host name: VerifyConnection does the
		// verification that is skipped here.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			p, err := k.verify(s.PeerCertificates)
			if err != nil {
				return &unverified{err}
			}
			if k.wants != 0 && p.Node != k.wants {
				return &unverified{fmt.Errorf("it is %s, and not node %d", p, k.wants)}
			}
			peer = p
			return nil
		},
	}
	if k.cert != nil {
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return k.cert, nil }
	}
	t := tls.Client(raw, conf)
	if err := t.Handshake(); err != nil {
		return nil, explain(addr, err)
	}
	if t.ConnectionState().NegotiatedProtocol != k.protocol {
		return nil, notANode(addr)
	}
	hello := &pb.Hello{ClusterId: k.clusterID, Release: k.version.Release,
		SpeaksFrom: k.version.From, SpeaksTo: k.version.To, WantsNode: k.wants}
	if err := writeHandshake(t, hello); err != nil {
		return nil, explain(addr, err)
	}
	var welcome pb.Welcome
	if err := readHandshake(t, &welcome); err != nil {
		return nil, explain(addr, err)
	}
	if r := welcome.Refusal; r != nil {
		return nil, &Refused{Addr: addr, Reason: r.Reason, Text: r.Text}
	}
	if welcome.Speaks < k.version.From || welcome.Speaks > k.version.To {
		return nil, fmt.Errorf("the node at %s, Sherd %s, chose version %d of the node protocol, "+
			"which this release does not speak", addr, welcome.Release, welcome.Speaks)
	}
	if welcome.ClusterVersion > k.version.To {
		return nil, fmt.Errorf("the cluster is at version %d, and this release, Sherd %s, knows versions %d to %d: "+
			"start the newer release here",
			welcome.ClusterVersion, k.version.Release, k.version.From, k.version.To)
	}
	return &Conn{Conn: t, Peer: peer, Speaks: welcome.Speaks, Addr: addr, knownAt: welcome.KnownAt}, nil
}

// unverified is the error for a node that is not the expected one.
type unverified struct{ error }

func (u *unverified) Unwrap() error { return u.error }

func notANode(addr string) error {
	return fmt.Errorf("what answers at %s is not the node port of a Sherd node; "+
		"clients connect with another port than nodes do", addr)
}

// explain describes what went wrong before the handshake.
func explain(addr string, err error) error {
	var u *unverified
	var plain tls.RecordHeaderError
	var alert tls.AlertError
	var timeout net.Error
	switch {
	case errors.As(err, &u):
		return fmt.Errorf("the node at %s is not trusted: %w", addr, u.error)
	case errors.As(err, &plain), errors.As(err, &alert), strings.Contains(err.Error(), "remote error: tls"):
		return notANode(addr)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("the node at %s closed the connection: it is starting, stopping or overloaded, "+
			"or this is not its port for nodes", addr)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("what answers at %s did not complete the handshake in time: %w", addr, err)
	}
	return fmt.Errorf("connection to the node at %s: %w", addr, err)
}
