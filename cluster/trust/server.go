package trust

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"time"
)

// IssueServer makes a certificate that proves a node's host names to clients. It names no node, so
// other nodes do not accept it as a node's (TR1).
func (a *Authority) IssueServer(hosts []string, now time.Time) (*tls.Certificate, error) {
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: newSerial(),
		Subject:      pkix.Name{Organization: []string{"Sherd"}, CommonName: "server of cluster " + a.ClusterID},
		NotBefore:    now.Add(-backdate), NotAfter: now.Add(nodeLife),
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.Cert, key.ec.Public(), a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key.ec, Leaf: leaf}
	for _, above := range a.above { // for clients that trust the authority before this one
		c.Certificate = append(c.Certificate, above.Raw)
	}
	c.Certificate = append(c.Certificate, a.Cert.Raw)
	return c, nil
}
