package pgwire

import (
	"context"
	"crypto/tls"
	"crypto/x509"

	"github.com/xdg-go/scram"
)

// negotiateTLS answers an SSLRequest.
func (c *conn) negotiateTLS(ctx context.Context) error {
	if c.server.cfg.TLS == nil {
		_, err := c.net.Write([]byte{'N'})
		return c.readError(err)
	}
	if _, err := c.net.Write([]byte{'S'}); err != nil {
		return c.readError(err)
	}
	var shown *tls.Certificate
	tc := tls.Server(c.raw, noting(c.server.cfg.TLS, &shown))
	if err := tc.HandshakeContext(ctx); err != nil {
		c.server.cfg.Log.Debug("TLS handshake failed", "client", c.raw.RemoteAddr(), "error", err)
		c.lost = err
		return err
	}
	c.net = tc
	c.in.src = tc
	c.binding = endpointBinding(shown)
	return nil
}

// noting returns a configuration that stores the certificate it shows to the client. Tickets are
// off, as in PostgreSQL: sessions of a database live long, and a resumed one would show no
// certificate.
func noting(cfg *tls.Config, shown **tls.Certificate) *tls.Config {
	if cfg.GetConfigForClient != nil {
		return cfg
	}
	cfg = cfg.Clone()
	cfg.SessionTicketsDisabled = true
	get, own := cfg.GetCertificate, cfg.Certificates
	cfg.Certificates = nil
	cfg.GetCertificate = func(hello *tls.ClientHelloInfo) (cert *tls.Certificate, err error) {
		if get != nil {
			cert, err = get(hello)
		}
		for i := 0; cert == nil && err == nil && i < len(own); i++ {
			if i == len(own)-1 || hello.SupportsCertificate(&own[i]) == nil {
				cert = &own[i]
			}
		}
		*shown = cert
		return cert, err
	}
	return cfg
}

// endpointBinding returns the data that SCRAM binds a TLS channel with (RFC 5929,
// tls-server-end-point), nil if the certificate allows none.
func endpointBinding(cert *tls.Certificate) *scram.ChannelBinding {
	if cert == nil || len(cert.Certificate) == 0 {
		return nil
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		return nil
	}
	// The library is made for clients: to them the server's certificate is the peer's.
	binding, err := scram.NewTLSServerEndpointBinding(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}})
	if err != nil {
		return nil
	}
	return &binding
}
