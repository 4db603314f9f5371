package trust

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// Reasons why a certificate is not accepted. Errors that wrap one of these are sentences for the
// operator at the terminal.
var (
	ErrStranger     = errors.New("not a node of any cluster")
	ErrOtherCluster = errors.New("of another cluster")
	ErrUntrusted    = errors.New("signed by an authority that is not trusted")
	ErrExpired      = errors.New("expired")
)

// refusal is an error text of a kind.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.kind }

func refuse(kind error, format string, args ...any) error {
	return &refusal{kind: kind, text: fmt.Sprintf(format, args...)}
}

// Roots are the authorities that a node trusts.
type Roots struct {
	clusterID string
	certs     []*x509.Certificate
	pool      *x509.CertPool
}

// NewRoots makes Roots from the certificates of a cluster's authorities, as DER.
func NewRoots(clusterID string, certs [][]byte) (*Roots, error) {
	parsed, err := Chain(certs).parse()
	if err != nil {
		return nil, fmt.Errorf("certificates of the cluster's authorities: %w", err)
	}
	return newRoots(clusterID, parsed)
}

func newRoots(clusterID string, certs []*x509.Certificate) (*Roots, error) {
	r := &Roots{clusterID: clusterID, certs: certs, pool: x509.NewCertPool()}
	for _, c := range certs {
		id, path, err := parseURI(c)
		if err != nil || !c.IsCA || path != "/authority" || id != clusterID {
			return nil, fmt.Errorf("certificate %q is not that of an authority of cluster %s", c.Subject, clusterID)
		}
		r.pool.AddCert(c)
	}
	return r, nil
}

// DER returns the certificates.
func (r *Roots) DER() [][]byte {
	out := make([][]byte, len(r.certs))
	for i, c := range r.certs {
		out[i] = c.Raw
	}
	return out
}

// Fingerprints name the authorities.
func (r *Roots) Fingerprints() []Fingerprint {
	out := make([]Fingerprint, len(r.certs))
	for i, c := range r.certs {
		out[i] = FingerprintOf(c)
	}
	return out
}

func (r *Roots) marshal() []byte {
	var out []byte
	for _, c := range r.certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: certBlock, Bytes: c.Raw})...)
	}
	return out
}

// Verify returns the owner of a chain that a peer has shown, after the peer has proved that it has
// the key (TR1, TR2).
func (r *Roots) Verify(chain []*x509.Certificate, now time.Time) (Peer, error) {
	if len(chain) == 0 {
		return Peer{}, refuse(ErrStranger, "it showed no certificate")
	}
	p, err := nodeOf(chain[0])
	if err != nil {
		return Peer{}, refuse(ErrStranger, "it is not a node of a Sherd cluster: %s", err)
	}
	if p.ClusterID != r.clusterID {
		return Peer{}, refuse(ErrOtherCluster, "it is %s, not of cluster %s", p, r.clusterID)
	}
	if err := verify(r.pool, chain, now); err != nil {
		var invalid x509.CertificateInvalidError
		if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
			return Peer{}, expired(p, chain[0], now)
		}
		return Peer{}, refuse(ErrUntrusted, "its certificate as %s is not signed by an authority of the cluster", p)
	}
	p.Issuer = issuer(chain)
	return p, nil
}

func expired(p Peer, leaf *x509.Certificate, now time.Time) error {
	if now.Before(leaf.NotBefore) {
		return refuse(ErrExpired, "the certificate of node %d holds from %s on, "+
			"and it is %s by the clock here: compare the clocks",
			p.Node, leaf.NotBefore.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return refuse(ErrExpired, "the certificate of node %d expired at %s, "+
		"and it is %s by the clock here: compare the clocks, "+
		"or let the node join again with a token made for it", p.Node, leaf.NotAfter.UTC().Format(time.RFC3339),
		now.UTC().Format(time.RFC3339))
}

func verify(roots *x509.CertPool, chain []*x509.Certificate, now time.Time) error {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return err
}

// issuer names the authority that signed the first certificate, as far as the chain shows it.
func issuer(chain []*x509.Certificate) Fingerprint {
	for _, c := range chain[1:] {
		if chain[0].CheckSignatureFrom(c) == nil {
			return FingerprintOf(c)
		}
	}
	return Fingerprint{}
}

// VerifyPinned returns the owner of a chain, for a caller that knows only what a join token has:
// the fingerprint of the cluster's authority.
func VerifyPinned(chain []*x509.Certificate, t Token, now time.Time) (Peer, error) {
	if len(chain) == 0 {
		return Peer{}, refuse(ErrStranger, "it showed no certificate")
	}
	p, err := nodeOf(chain[0])
	if err != nil {
		return Peer{}, refuse(ErrStranger, "it is not a node of a Sherd cluster: %s", err)
	}
	if p.ClusterID != t.ClusterID() {
		return Peer{}, refuse(ErrOtherCluster, "it is %s, and the join token is for cluster %s", p, t.ClusterID())
	}
	pool, found := x509.NewCertPool(), false
	for _, c := range chain[1:] {
		if c.IsCA && FingerprintOf(c) == t.authority {
			pool.AddCert(c)
			found = true
		}
	}
	if !found {
		return Peer{}, refuse(ErrUntrusted, "its certificate as %s is not signed by the authority "+
			"that the join token names; "+
			"if the cluster has replaced its authority since, make a new token", p)
	}
	if err := verify(pool, chain, now); err != nil {
		var invalid x509.CertificateInvalidError
		if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
			return Peer{}, expired(p, chain[0], now)
		}
		return Peer{}, refuse(
			ErrUntrusted, "its certificate as %s is not signed by the authority that the join token names", p,
		)
	}
	p.Issuer = issuer(chain)
	return p, nil
}
