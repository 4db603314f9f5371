package trust

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	nodeLife      = 365 * 24 * time.Hour
	backdate      = 24 * time.Hour // for machines whose clock is behind
)

// Fingerprint names an authority: the first half of the SHA-256 of its public key. 128 bits
// withstand a search for a second key.
type Fingerprint [16]byte

func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// FingerprintOf returns the fingerprint of a certificate's key.
func FingerprintOf(c *x509.Certificate) Fingerprint {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return Fingerprint(sum[:16])
}

// Authority is a certificate authority of a cluster, with its key.
type Authority struct {
	ClusterID string
	Cert      *x509.Certificate
	above     []*x509.Certificate // its key certified by the earlier authority, and the certificate of that one
	key       *ecdsa.PrivateKey
}

// NewAuthority makes an authority with a new key.
func NewAuthority(clusterID string, now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := authorityTemplate(clusterID, now)
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{ClusterID: clusterID, Cert: cert, key: key}, nil
}

func authorityTemplate(clusterID string, now time.Time) *x509.Certificate {
	serial := newSerial()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject: pkix.Name{
			Organization: []string{"Sherd"},
			CommonName:   "authority " + serial.Text(16)[:8] + " of cluster " + clusterID,
		},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true,
		// One authority below: the next one, which this one certifies while it takes over.
		MaxPathLen: 1, KeyUsage: x509.KeyUsageCertSign,
		URIs: []*url.URL{{Scheme: scheme, Host: clusterID, Path: "/authority"}},
	}
}

// newSerial returns 127 random bits, with the highest set.
func newSerial() *big.Int {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[0] = b[0]&0x7f | 0x40
	return new(big.Int).SetBytes(b[:])
}

// Fingerprint names the authority.
func (a *Authority) Fingerprint() Fingerprint { return FingerprintOf(a.Cert) }

// Follow makes the authority before this one certify this one's key. So the holders of join tokens,
// which know only the earlier authority, accept certificates that this one signs.
func (a *Authority) Follow(before *Authority, now time.Time) error {
	t := authorityTemplate(a.ClusterID, now)
	t.Subject, t.MaxPathLen, t.MaxPathLenZero = a.Cert.Subject, 0, true
	der, err := x509.CreateCertificate(rand.Reader, t, before.Cert, a.key.Public(), before.key)
	if err != nil {
		return err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	a.above = append(a.above, cert, before.Cert)
	return nil
}

// Issue certifies the key of a request (NewRequest) for a node. It returns the chain that the node
// shows, its certificate first.
func (a *Authority) Issue(request []byte, node uint32, now time.Time) (Chain, error) {
	r, err := x509.ParseCertificateRequest(request)
	if err == nil {
		err = r.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("certificate request is damaged: %w", err)
	}
	if err := checkKey(r.PublicKey); err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: newSerial(),
		Subject:      pkix.Name{Organization: []string{"Sherd"}, CommonName: fmt.Sprintf("node %d", node)},
		NotBefore:    now.Add(-backdate), NotAfter: now.Add(nodeLife),
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{nodeURI(a.ClusterID, node)},
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.Cert, r.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	chain := Chain{der}
	for _, c := range a.above {
		chain = append(chain, c.Raw)
	}
	return append(chain, a.Cert.Raw), nil
}

const (
	certBlock = "CERTIFICATE"
	keyBlock  = "PRIVATE KEY"
)

// Marshal returns the authority as PEM: its key and its certificates. With it one can admit any
// node.
func (a *Authority) Marshal() ([]byte, error) {
	out, err := marshalKey(a.key)
	if err != nil {
		return nil, err
	}
	for _, c := range append([]*x509.Certificate{a.Cert}, a.above...) {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: certBlock, Bytes: c.Raw})...)
	}
	return out, nil
}

// ParseAuthority reads what Marshal wrote.
func ParseAuthority(text []byte) (*Authority, error) {
	key, certs, err := parsePEM(text)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	if key == nil || len(certs) == 0 {
		return nil, errors.New("certificate authority: the key or the certificate is missing")
	}
	if !certs[0].IsCA || !samePublicKey(certs[0], key) {
		return nil, errors.New("certificate authority: the certificate does not belong to the key")
	}
	cluster, path, err := parseURI(certs[0])
	if err != nil || path != "/authority" {
		return nil, errors.New("certificate authority: the certificate is not one of Sherd's")
	}
	return &Authority{ClusterID: cluster, Cert: certs[0], above: certs[1:], key: key}, nil
}

func samePublicKey(c *x509.Certificate, key *ecdsa.PrivateKey) bool {
	pub, ok := c.PublicKey.(*ecdsa.PublicKey)
	return ok && pub.Equal(key.Public())
}

// checkKey returns an error for kinds of keys that Sherd does not make.
func checkKey(pub any) error {
	k, ok := pub.(*ecdsa.PublicKey)
	if !ok || k.Curve != elliptic.P256() {
		return errors.New("certificate request: the key is not ECDSA P-256")
	}
	return nil
}

func marshalKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}), nil
}

// parsePEM reads at most one key, and certificates.
func parsePEM(text []byte) (key *ecdsa.PrivateKey, certs []*x509.Certificate, err error) {
	for len(bytes.TrimSpace(text)) > 0 {
		var b *pem.Block
		b, text = pem.Decode(text)
		if b == nil {
			return nil, nil, errors.New("not in PEM format")
		}
		switch b.Type {
		case certBlock:
			c, err := x509.ParseCertificate(b.Bytes)
			if err != nil {
				return nil, nil, err
			}
			certs = append(certs, c)
		case keyBlock:
			k, err := x509.ParsePKCS8PrivateKey(b.Bytes)
			if err != nil {
				return nil, nil, err
			}
			ec, ok := k.(*ecdsa.PrivateKey)
			if !ok || key != nil {
				return nil, nil, errors.New("the key is not one ECDSA key")
			}
			key = ec
		default:
			return nil, nil, fmt.Errorf("unexpected block %q", b.Type)
		}
	}
	return key, certs, nil
}
