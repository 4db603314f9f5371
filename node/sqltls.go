package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/trust"
)

// Values of Config.SQLTLS.
const (
	// On, unless only clients of this machine can connect and no certificate is configured.
	TLSAuto = "auto"
	TLSOn   = "on"
)

// clientTLS is the certificate for clients: that of the configured files, or one that this node
// makes and the cluster's authority signs.
type clientTLS struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate] // nil: clients are offered no TLS
	signedBy          trust.Fingerprint               // of a certificate made here
}

// loadClientTLS reads the configured files, so that errors in them are reported before anything is
// created.
func (n *Node) loadClientTLS() error {
	n.tls.certFile, n.tls.keyFile = n.cfg.SQLTLSCert, n.cfg.SQLTLSKey
	if n.tls.certFile == "" {
		return nil
	}
	return n.readClientTLS()
}

func (n *Node) readClientTLS() error {
	cert, err := tls.LoadX509KeyPair(n.tls.certFile, n.tls.keyFile)
	if err != nil {
		return fmt.Errorf("--sql-tls-cert %s, --sql-tls-key %s: %w", n.tls.certFile, n.tls.keyFile, err)
	}
	if cert.Leaf == nil {
		if cert.Leaf, err = x509.ParseCertificate(cert.Certificate[0]); err != nil {
			return fmt.Errorf("--sql-tls-cert %s: %w", n.tls.certFile, err)
		}
	}
	if now := n.cfg.Knobs.Now(); now.After(cert.Leaf.NotAfter) || now.Before(cert.Leaf.NotBefore) {
		n.cfg.Logger.Warn("the certificate for clients is not valid now: those that verify it do not connect",
			"file", n.tls.certFile,
			"from", cert.Leaf.NotBefore, "to", cert.Leaf.NotAfter)
	}
	n.tls.current.Store(&cert)
	return nil
}

// clientConfig returns the TLS configuration for clients; nil: they are not offered TLS.
func (n *Node) clientConfig() (*tls.Config, error) {
	if n.tls.current.Load() == nil {
		if n.cfg.SQLTLS != TLSOn && n.onLoopback() {
			return nil, nil
		}
		if err := n.makeClientTLS(); err != nil {
			return nil, fmt.Errorf("certificate for clients: %w", err)
		}
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12, // as in PostgreSQL
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return n.tls.current.Load(), nil },
	}, nil
}

// makeClientTLS makes a certificate for the names under which clients may reach this node. Only
// memory holds it: every node has the authority's key and can make another one.
func (n *Node) makeClientTLS() error {
	signer, err := n.register.Signer()
	if err != nil {
		return err
	}
	cert, err := signer.IssueServer(n.clientHosts(), n.cfg.Knobs.Now())
	if err != nil {
		return err
	}
	n.tls.signedBy = signer.Fingerprint()
	n.tls.current.Store(cert)
	return nil
}

// clientHosts returns the names and addresses of this node for clients.
func (n *Node) clientHosts() []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	addrs := []string{n.listener.Addr().String()}
	if self := n.catalog.View().Node(n.dir.NodeID); self != nil {
		addrs = append(addrs, self.SQLAddr)
	}
	for _, a := range addrs {
		if host, _, err := net.SplitHostPort(a); err == nil && host != "" && !net.ParseIP(host).IsUnspecified() {
			hosts = append(hosts, host)
		}
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		hosts = append(hosts, name)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// keepClientTLS renews the certificate for clients after a third of its lifetime, and when another
// authority signs. It ends with ctx.
func (n *Node) keepClientTLS(ctx context.Context) {
	n.eachLook(ctx, func() {
		leaf := n.tls.current.Load().Leaf
		signer, err := n.register.Signer()
		fresh := func() bool {
			third := leaf.NotAfter.Sub(leaf.NotBefore) / 3
			return signer.Fingerprint() == n.tls.signedBy && n.cfg.Knobs.Now().Before(leaf.NotBefore.Add(third))
		}
		if err != nil || fresh() {
			return
		}
		if err := n.makeClientTLS(); err != nil {
			n.cfg.Logger.Warn("the certificate for clients was not renewed", "error", err)
		}
	})
}

// Reload reads the certificate for clients again, which an operator may have replaced. If the files
// are not valid, it logs the error, and the old certificate stays in use.
func (n *Node) Reload() {
	if n.tls.certFile == "" {
		return
	}
	if err := n.readClientTLS(); err != nil {
		n.cfg.Logger.Error("the certificate for clients was not read again; the one before stays in use", "error", err)
		return
	}
	leaf := n.tls.current.Load().Leaf
	n.cfg.Logger.Info("the certificate for clients was read again",
		"subject", leaf.Subject.String(), "expires", leaf.NotAfter.UTC().Format(time.RFC3339))
}

// onLoopback reports whether only clients of this machine can connect.
func (n *Node) onLoopback() bool {
	a, ok := n.listener.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// checkNewAccess refuses to create a cluster to which clients of other machines could connect
// without a password (docs/operations.md).
func (n *Node) checkNewAccess() error {
	if n.onLoopback() || n.cfg.Password != "" {
		return nil
	}
	return fmt.Errorf("--sql-addr %s is not a loopback address: clients of other machines need a password, "+
		"and the cluster that would begin here has none. "+
		"Give the first one of the role postgres with --superuser-password-file FILE or SHERD_SUPERUSER_PASSWORD",
		n.cfg.SQLAddr)
}

// checkAccess refuses to open the clients' port to other machines if no role of the cluster has a
// password.
func (n *Node) checkAccess() error {
	if n.onLoopback() {
		return nil
	}
	for r := range n.catalog.View().Roles() {
		if r.Login && r.Password != "" {
			return nil
		}
	}
	name := "postgres"
	if r := n.catalog.View().Role(catalog.BootstrapRole); r != nil {
		name = r.Name
	}
	return errors.New("--sql-addr " + n.cfg.SQLAddr + " is not a loopback address: " +
		"clients of other machines need a password, and no role of the cluster has one. " +
		"Set one first, on a node with a --sql-addr of 127.0.0.1: ALTER ROLE " + name + " PASSWORD '…'")
}
