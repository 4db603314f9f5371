package nodetest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/cluster/trust"
	"github.com/sherddb/sherd/node"
)

// verified connects as a client that verifies the server's certificate, and returns that
// certificate.
func verified(t *testing.T, url string, roots *x509.CertPool, host string) (*x509.Certificate, error) {
	t.Helper()
	cfg, err := pgx.ParseConfig(url + "?sslmode=require")
	if err != nil {
		t.Fatal(err)
	}
	var shown *x509.Certificate
	cfg.TLSConfig = &tls.Config{RootCAs: roots, ServerName: host, VerifyConnection: func(s tls.ConnectionState) error { shown = s.PeerCertificates[0]; return nil }}
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		return nil, err
	}
	defer conn.Close(t.Context())
	return shown, conn.Ping(t.Context())
}

// certificateFiles writes a certificate for localhost and its key, and returns the authority that
// signed it.
func certificateFiles(t *testing.T, cert, key string) *x509.CertPool {
	t.Helper()
	a, err := trust.NewAuthority("11111111-2222-4333-8444-555555555555", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	made, err := a.IssueServer([]string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: made.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.Cert)
	return pool
}

// TestClientTLS: clients are offered TLS, with a certificate that the node makes and the cluster's
// authority signs, or with one from files, which are read again while the node runs. On a loopback
// address TLS is off unless it is configured.
func TestClientTLS(t *testing.T) {
	t.Parallel()
	c := Start(t, 1)
	n := c.Node(1)
	if _, err := verified(t, n.URL(), nil, "localhost"); err == nil || !strings.Contains(err.Error(), "refused TLS") {
		t.Errorf("TLS on a loopback address: %v", err)
	}
	settings := func(want string) {
		t.Helper()
		var got string
		if err := n.Connect(t).QueryRow(t.Context(), "SELECT current_setting('port') || ' ' || current_setting('ssl')").Scan(&got); err != nil {
			t.Fatal(err)
		}
		if _, port, _ := strings.Cut(n.Config.SQLAddr, ":"); got != port+want {
			t.Errorf("port and ssl are %q, expected %q", got, port+want)
		}
	}
	settings(" off")
	var authority string
	if err := n.Connect(t).QueryRow(t.Context(), "SELECT certificate FROM sherd.authorities").Scan(&authority); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(authority)) {
		t.Fatal(authority)
	}

	n.Stop()
	n.Config.SQLTLS = node.TLSOn
	n.Restart()
	settings(" on")
	for _, host := range []string{"localhost", "127.0.0.1"} {
		shown, err := verified(t, n.URL(), roots, host)
		if err != nil {
			t.Fatal(err)
		}
		if len(shown.URIs) != 0 || len(shown.ExtKeyUsage) != 1 || shown.ExtKeyUsage[0] != x509.ExtKeyUsageServerAuth {
			t.Errorf("a certificate that could be taken for a node's: %v %v", shown.URIs, shown.ExtKeyUsage)
		}
	}
	if _, err := verified(t, n.URL(), roots, "elsewhere"); err == nil {
		t.Error("the certificate is good for any name")
	}

	n.Stop()
	n.Config.SQLTLS = ""
	n.Config.SQLTLSCert, n.Config.SQLTLSKey = filepath.Join(t.TempDir(), "cert"), filepath.Join(t.TempDir(), "key")
	refused(t, n, "--sql-tls-cert "+n.Config.SQLTLSCert)
	first := certificateFiles(t, n.Config.SQLTLSCert, n.Config.SQLTLSKey)
	n.Restart()
	if _, err := verified(t, n.URL(), first, "localhost"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(n.Config.SQLTLSCert, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Reload()
	if _, err := verified(t, n.URL(), first, "localhost"); err != nil {
		t.Errorf("a bad file took the certificate away: %v", err)
	}
	second := certificateFiles(t, n.Config.SQLTLSCert, n.Config.SQLTLSKey)
	n.Reload()
	if _, err := verified(t, n.URL(), second, "localhost"); err != nil {
		t.Error(err)
	}
}

// TestPortBeyondThisMachine: clients of other machines can connect only if a role has a password.
func TestPortBeyondThisMachine(t *testing.T) {
	t.Parallel()
	c := Start(t, 1)
	n := c.stranger(t, "")
	n.Config.Join = nil
	n.Config.SQLAddr, n.Config.SQLAdvertiseAddr = "0.0.0.0:0", "127.0.0.1"
	refused(t, n, "--superuser-password-file")
	n.Config.Password = "secret"
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.Stop()

	n = c.Node(1)
	n.Stop()
	n.Config.SQLAddr, n.Config.SQLAdvertiseAddr = "0.0.0.0:0", "127.0.0.1"
	refused(t, n, "ALTER ROLE postgres PASSWORD")
	n.Config.SQLAddr = "127.0.0.1:0"
	n.Restart()
	exec(t, c, 1, "ALTER ROLE postgres PASSWORD 'secret'")
	n.Stop()
	n.Config.SQLAddr = "0.0.0.0:0"
	n.Restart()
}
