package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// scheme begins the name in every certificate: sherd://CLUSTER/node/3.
const scheme = "sherd"

// Peer is the node that a verified certificate names.
type Peer struct {
	ClusterID string
	Node      uint32
	Issuer    Fingerprint // of the authority that signed the certificate; zero if the chain does not show it
	Expires   time.Time
}

func (p Peer) String() string { return fmt.Sprintf("node %d of cluster %s", p.Node, p.ClusterID) }

// Chain is a certificate and those of the authorities above it, as DER.
type Chain [][]byte

// parse reads a chain's certificates.
func (c Chain) parse() ([]*x509.Certificate, error) {
	if len(c) == 0 {
		return nil, errors.New("no certificate")
	}
	out := make([]*x509.Certificate, len(c))
	for i, der := range c {
		var err error
		if out[i], err = x509.ParseCertificate(der); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Key is a node's private key.
type Key struct{ ec *ecdsa.PrivateKey }

// NewKey makes a key.
func NewKey() (Key, error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return Key{k}, err
}

// Request returns a request for a certificate of the key. It names no node: the cluster assigns the
// number.
func (k Key) Request() ([]byte, error) {
	return x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, k.ec)
}

// KeyHash returns the hash by which a request's key is known (TR3).
func KeyHash(request []byte) ([]byte, error) {
	r, err := x509.ParseCertificateRequest(request)
	if err == nil {
		err = r.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("certificate request is damaged: %w", err)
	}
	sum := sha256.Sum256(r.RawSubjectPublicKeyInfo)
	return sum[:], nil
}

func nodeURI(clusterID string, node uint32) *url.URL {
	return &url.URL{Scheme: scheme, Host: clusterID, Path: "/node/" + strconv.FormatUint(uint64(node), 10)}
}

// parseURI returns the cluster and the path from the name in a Sherd certificate.
func parseURI(c *x509.Certificate) (cluster, path string, err error) {
	if len(c.URIs) != 1 || c.URIs[0].Scheme != scheme || c.URIs[0].Host == "" {
		return "", "", errors.New("the certificate is not one of Sherd's")
	}
	return c.URIs[0].Host, c.URIs[0].Path, nil
}

// nodeOf reads the name in a node's certificate, which is not verified yet.
func nodeOf(c *x509.Certificate) (Peer, error) {
	cluster, path, err := parseURI(c)
	if err != nil {
		return Peer{}, err
	}
	digits, ok := strings.CutPrefix(path, "/node/")
	n, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil || n == 0 || c.IsCA || nodeURI(cluster, uint32(n)).Path != path {
		return Peer{}, errors.New("the certificate is not a node's")
	}
	return Peer{ClusterID: cluster, Node: uint32(n), Expires: c.NotAfter}, nil
}
