package pgwire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/pgerr"
)

func pgxConnect(t *testing.T, addr, user, options string) (*pgx.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, "postgres://"+user+"@"+addr+"/postgres?"+options)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	return conn, err
}

func TestPgx(t *testing.T) {
	_, addr := startServer(t, scriptConfig())
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			conn, err := pgxConnect(t, addr, "postgres", "sslmode=disable&default_query_exec_mode="+mode)
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			if mode != "simple_protocol" { // which writes the values into the text
				var n int32
				var s string
				if err := conn.QueryRow(
					ctx, "select $1::int4, $2::text", int32(7), "sieben",
				).Scan(&n, &s); err != nil || n != 7 || s != "sieben" {
					t.Errorf("%d %q %v", n, s, err)
				}
			}
			rows, err := conn.Query(ctx, "select generate_series(1,3)")
			if err != nil {
				t.Fatal(err)
			}
			all, err := pgx.CollectRows(rows, pgx.RowTo[int32])
			if err != nil || len(all) != 3 || all[2] != 3 {
				t.Errorf("%v %v", all, err)
			}
			_, err = conn.Exec(ctx, "select 1/0")
			if code := sqlstate(err); code != "22012" {
				t.Errorf("SQLSTATE %s", code)
			}
			if _, err := conn.Exec(ctx, "set application_name to 'pgx'"); err != nil ||
				conn.PgConn().ParameterStatus("application_name") != "pgx" {
				t.Error(err)
			}
		})
	}
}

func sqlstate(err error) string {
	for e := err; e != nil; {
		if pe, ok := e.(*pgconn.PgError); ok {
			return pe.Code
		}
		switch u := e.(type) {
		case interface{ Unwrap() error }:
			e = u.Unwrap()
		case interface{ Unwrap() []error }:
			for _, one := range u.Unwrap() {
				if code := sqlstate(one); code != "" {
					return code
				}
			}
			return ""
		default:
			return ""
		}
	}
	return ""
}

func TestPgxCopyAndBatch(t *testing.T) {
	_, addr := startServer(t, scriptConfig())
	conn, err := pgxConnect(t, addr, "postgres", "sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	tag, err := conn.PgConn().CopyFrom(ctx, strings.NewReader(strings.Repeat("1\n", 500000)), "copy t from stdin")
	if err != nil || tag.RowsAffected() != 500000 {
		t.Errorf("%v %v", tag, err)
	}
	var out strings.Builder
	if tag, err = conn.PgConn().CopyTo(ctx, &out, "copy (select generate_series(1,2)) to stdout"); err != nil ||
		out.String() != "1\n2\n" {
		t.Errorf("%v %v %q", tag, err, out.String())
	}
	var batch pgx.Batch
	sum := 0
	for i := range 500 {
		batch.Queue("select $1::int4", i).QueryRow(func(row pgx.Row) error {
			var n int
			err := row.Scan(&n)
			sum += n
			return err
		})
	}
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil || sum != 500*499/2 {
		t.Errorf("%d %v", sum, err)
	}
}

func TestScram(t *testing.T) {
	_, addr := startServer(t, scriptConfig())
	if _, err := pgxConnect(t, addr, "alice:secret", "sslmode=disable"); err != nil {
		t.Error(err)
	}
	for user, want := range map[string]string{"alice:wrong": "28P01", "alice:": "28P01", "bob:x": "28P01"} {
		_, err := pgxConnect(t, addr, user, "sslmode=disable")
		if err == nil || sqlstate(err) != want {
			t.Errorf("%s: %v", user, err)
		}
	}
}

func TestTLS(t *testing.T) {
	cfg := scriptConfig()
	cfg.TLS = selfSigned(t)
	_, addr := startServer(t, cfg)
	for _, user := range []string{"postgres", "alice:secret"} {
		conn, err := pgxConnect(t, addr, user, "sslmode=require")
		if err != nil {
			t.Fatal(user, err)
		}
		if _, ok := conn.PgConn().Conn().(*tls.Conn); !ok {
			t.Error("no TLS")
		}
		if _, err := conn.Exec(context.Background(), "select repeat('x',1000000)"); err != nil {
			t.Error(err)
		}
	}
	if _, err := pgxConnect(t, addr, "alice:wrong", "sslmode=require"); sqlstate(err) != "28P01" {
		t.Error(err)
	}
}

// SCRAM over TLS is bound to the channel, whichever way the certificate is given, for clients that
// ask for it.
func TestChannelBinding(t *testing.T) {
	fixed := selfSigned(t)
	chosen := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return &fixed.Certificates[0], nil
	}}
	for name, tc := range map[string]*tls.Config{"Certificates": fixed, "GetCertificate": chosen} {
		cfg := scriptConfig()
		cfg.TLS = tc
		_, addr := startServer(t, cfg)
		for _, binding := range []string{"require", "prefer", "disable"} {
			if _, err := pgxConnect(t, addr, "alice:secret", "sslmode=require&channel_binding="+binding); err != nil {
				t.Errorf("%s, channel_binding=%s: %v", name, binding, err)
			}
		}
	}
}

func selfSigned(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// remote makes a loopback connection look as if it came from elsewhere.
type remote struct{ net.Listener }

type remoteConn struct{ net.Conn }

func (l remote) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	return remoteConn{nc}, err
}

func (remoteConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 40000}
}

// From afar nothing goes without TLS and a password, and nobody learns which roles exist.
func TestRemoteClients(t *testing.T) {
	cfg := scriptConfig()
	cfg.TLS = selfSigned(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(cfg)
	go func() { _ = s.Serve(remote{l}) }()
	t.Cleanup(s.Close)
	for _, c := range []struct{ user, mode, code string }{
		{"alice:secret", "require", ""},
		{"alice:secret", "disable", "28000"},
		{"alice:wrong", "require", "28P01"},
		{"postgres:guess", "require", "28P01"},
		{"nobody:guess", "require", "28P01"},
	} {
		_, err := pgxConnect(t, l.Addr().String(), c.user, "sslmode="+c.mode)
		if got := sqlstate(err); got != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%s with sslmode %s: %v", c.user, c.mode, err)
		}
	}
}

// TestProtocol32 has a client ask for protocol 3.2, as libpq 18 can: the server negotiates 3.0.
func TestProtocol32(t *testing.T) {
	_, addr := startServer(t, scriptConfig())
	conn, err := pgxConnect(t, addr, "postgres", "sslmode=disable&max_protocol_version=3.2")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := conn.QueryRow(context.Background(), "select 1").Scan(&n); err != nil || n != 1 {
		t.Error(n, err)
	}
}

// TestErrorSource looks at the fields that say where the server made an error.
func TestErrorSource(t *testing.T) {
	m := errorFields(pgerr.New(pgerr.InternalError, "here"), "ERROR")
	if m.File != "pgx_test.go" || m.Line == 0 || m.Routine != "pgwire.TestErrorSource" {
		t.Errorf("%s:%d %s", m.File, m.Line, m.Routine)
	}
	if m := errorFields(
		pgerr.Unsupported("here").WithRoutine("RevalidateCachedQuery"), "ERROR",
	); m.Routine != "RevalidateCachedQuery" {
		t.Error(m.Routine)
	}
}
