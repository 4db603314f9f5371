package pgwire

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgproto3/v2"
)

// saslClient speaks SCRAM by hand, so that it can speak it wrongly.
type saslClient struct {
	t  *testing.T
	nc net.Conn
}

func newSASLClient(t *testing.T, addr, user string) *saslClient {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(testTimeout))
	c := &saslClient{t, nc}
	c.write(startupBytes([]string{"user=" + user, "database=postgres"}))
	if got := c.answer(); got != "Authentication 10" {
		t.Fatalf("role %q: %s", user, got)
	}
	return c
}

func (c *saslClient) write(b []byte) {
	c.t.Helper()
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *saslClient) send(typ byte, body []byte) {
	c.write(append(binary.BigEndian.AppendUint32([]byte{typ}, uint32(len(body)+4)), body...))
}

// first sends the choice of a mechanism with a message, whose length is said to be n.
func (c *saslClient) first(mechanism, message string, n int) {
	c.send('p', append(binary.BigEndian.AppendUint32(append([]byte(mechanism), 0), uint32(n)), message...))
}

// answer returns the next message: the kind of an authentication request, or an error's SQLSTATE,
// message and detail, after which the connection must be closed.
func (c *saslClient) answer() string {
	c.t.Helper()
	typ, body := c.read()
	switch typ {
	case 'R':
		return fmt.Sprintf("Authentication %d", binary.BigEndian.Uint32(body))
	case 'E':
		var m pgproto3.ErrorResponse
		if err := m.Decode(body); err != nil {
			c.t.Fatal(err)
		}
		if m.Severity != "FATAL" {
			c.t.Errorf("severity %s", m.Severity)
		}
		if _, err := c.nc.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			c.t.Errorf("the connection stays open after %q: %v", m.Message, err)
		}
		return strings.TrimSpace(m.Code + " " + m.Message + " " + m.Detail)
	}
	return fmt.Sprintf("%c", typ)
}

func (c *saslClient) read() (typ byte, body []byte) {
	c.t.Helper()
	var head [5]byte
	if _, err := io.ReadFull(c.nc, head[:]); err != nil {
		c.t.Fatal(err)
	}
	body = make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	if _, err := io.ReadFull(c.nc, body); err != nil {
		c.t.Fatal(err)
	}
	return head[0], body
}

// final is what a client-final-message is made of.
type final struct {
	header, bare, challenge string
	nonce, proof            string // in base64
	binding                 string // in base64
}

// prove returns the proof of a password (RFC 5802, section 3).
func (f *final) prove(t *testing.T, password string) string {
	t.Helper()
	fields := map[string]string{}
	for part := range strings.SplitSeq(f.challenge, ",") {
		fields[part[:1]] = part[2:]
	}
	salt, err := base64.StdEncoding.DecodeString(fields["s"])
	if err != nil {
		t.Fatal(err)
	}
	rounds, err := strconv.Atoi(fields["i"])
	if err != nil {
		t.Fatal(err)
	}
	f.nonce = fields["r"]
	salted, err := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	key := sign(salted, "Client Key")
	stored := sha256.Sum256(key)
	signature := sign(stored[:], f.bare+","+f.challenge+",c="+f.binding+",r="+f.nonce)
	for i := range key {
		key[i] ^= signature[i]
	}
	return base64.StdEncoding.EncodeToString(key)
}

// TestScramFirst sends malformed choices and client-first-messages. The errors are PostgreSQL 15's.
func TestScramFirst(t *testing.T) {
	_, addr := startServer(t, scriptConfig())
	const malformed = "08P01 malformed SCRAM message "
	for _, c := range []struct{ message, want string }{
		{"n,,n=,r=abc", "Authentication 11"},
		{"y,,n=,r=abc", "Authentication 11"},
		{"n,,n=,r=abc,x=foo", "Authentication 11"},
		{"n,,n=,r=", "Authentication 11"},
		{"p=tls-server-end-point,,n=,r=abc",
			malformed + "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel binding data."},
		{"n=,r=abc", malformed + `Comma expected, but found character "'='".`},
		{"x,,n=,r=abc", malformed + `Unexpected channel-binding flag "'x'".`},
		{"n,a=foo,n=,r=abc", "0A000 client uses authorization identity, but it is not supported"},
		{"n,,m=ext,n=,r=abc", "0A000 client requires an unsupported SCRAM extension"},
		{"", malformed + "The message is empty."},
		{"n,,n=,r=a\x00bc", malformed + "Message length does not match input length."},
		{"n,,n=,r=a\x01bc", "08P01 non-printable characters in SCRAM nonce"},
		{"n,,n=", malformed + `Expected attribute "r" but found "0x00".`},
		{"n", malformed + `Comma expected, but found character "0x00".`},
		{"n,", malformed + `Unexpected attribute "0x00" in client-first-message.`},
		{"n,,r=abc", malformed + `Expected attribute "n" but found "'r'".`},
		{"n,,n,r=abc", malformed + `Expected character "=" for attribute "n".`},
		{"n,,n=,r=abc,1=x", malformed + `Attribute expected, but found invalid character "'1'".`},
		{"\xff\xfe", malformed + `Unexpected channel-binding flag "0xff".`},
	} {
		client := newSASLClient(t, addr, "alice")
		client.first(scramSHA256, c.message, len(c.message))
		if got := client.answer(); got != c.want {
			t.Errorf("%q: %s, expected %s", c.message, got, c.want)
		}
	}
	for _, c := range []struct {
		mechanism string
		length    int
		want      string
	}{
		{"SCRAM-FOO", 11, "08P01 client selected an invalid SASL authentication mechanism"},
		{scramPlus, 11, "08P01 client selected an invalid SASL authentication mechanism"},
		{scramSHA256, 100, "08P01 insufficient data left in message"},
		{scramSHA256, -2, "08P01 insufficient data left in message"},
		{scramSHA256, 5, "08P01 invalid message format"},
	} {
		client := newSASLClient(t, addr, "alice")
		client.first(c.mechanism, "n,,n=,r=abc", c.length)
		if got := client.answer(); got != c.want {
			t.Errorf("%s, %d bytes: %s, expected %s", c.mechanism, c.length, got, c.want)
		}
	}
	for typ, want := range map[byte]string{
		'p': "08P01 invalid string in message",
		'Q': "08P01 expected SASL response, got message type 81",
	} {
		client := newSASLClient(t, addr, "alice")
		client.send(typ, []byte(scramSHA256))
		if got := client.answer(); got != want {
			t.Errorf("message %c: %s, expected %s", typ, got, want)
		}
	}
}

// TestScramEmptyChallenge has a client choose a mechanism and send its first message when asked.
func TestScramEmptyChallenge(t *testing.T) {
	_, addr := startServer(t, scriptConfig())
	client := newSASLClient(t, addr, "alice")
	client.first(scramSHA256, "", -1)
	if typ, body := client.read(); typ != 'R' || len(body) != 4 || body[3] != 11 {
		t.Fatalf("%c %q, expected an empty challenge", typ, body)
	}
	client.send('p', []byte("n,,n=,r=abc"))
	if got := client.answer(); got != "Authentication 11" {
		t.Error(got)
	}
}

// TestScramFinal sends client-final-messages for a role that exists and one that does not: only the
// name differs in the answers, except for the right password.
func TestScramFinal(t *testing.T) {
	_, addr := startServer(t, scriptConfig())
	const (
		malformed = "08P01 malformed SCRAM message "
		binding   = "08P01 unexpected SCRAM channel-binding attribute in client-final-message"
		refused   = `28P01 password authentication failed for user "%s"`
	)
	for _, c := range []struct {
		what, header string
		message      func(f *final) string
		want         string
	}{
		{"right", "n,,", func(f *final) string { return "c=biws,r=" + f.nonce + ",p=" + f.proof }, "Authentication 12"},
		{"right, TLS not offered", "y,,", func(f *final) string {
			return "c=eSws,r=" + f.nonce + ",p=" + f.proof
		}, "Authentication 12"},
		{"other proof", "n,,", func(f *final) string {
			return "c=biws,r=" + f.nonce + ",p=" + strings.Repeat("A", 43) + "="
		}, refused},
		{"other nonce", "n,,", func(f *final) string { return "c=biws,r=zzz,p=" + f.proof },
			"08P01 invalid SCRAM response Nonce does not match."},
		{"part of the nonce", "n,,", func(f *final) string {
			return "c=biws,r=" + f.nonce[:8] + ",p=" + f.proof
		}, "08P01 invalid SCRAM response Nonce does not match."},
		{"proof is no base64", "n,,", func(f *final) string {
			return "c=biws,r=" + f.nonce + ",p=!!!!"
		}, malformed + "Malformed proof in client-final-message."},
		{"short proof", "n,,", func(f *final) string { return "c=biws,r=" + f.nonce + ",p=AAAA" },
			malformed + "Malformed proof in client-final-message."},
		{"no proof", "n,,", func(f *final) string { return "c=biws,r=" + f.nonce },
			malformed + "Attribute expected, but found end of string."},
		{"binding of another flag", "n,,", func(f *final) string {
			return "c=eSws,r=" + f.nonce + ",p=" + f.proof
		}, binding},
		{"binding is no base64", "n,,", func(f *final) string {
			return "c=!!!,r=" + f.nonce + ",p=" + f.proof
		}, binding},
		{"empty", "n,,", func(*final) string { return "" }, malformed + "The message is empty."},
		{"garbage", "n,,", func(*final) string { return "\xff\xfe" },
			malformed + `Expected attribute "c" but found "0xff".`},
		{"more behind", "n,,", func(f *final) string {
			return "c=biws,r=" + f.nonce + ",p=" + f.proof + ",x=1"
		}, malformed + "Garbage found at the end of client-final-message."},
		{"NUL behind", "n,,", func(f *final) string {
			return "c=biws,r=" + f.nonce + ",p=" + f.proof + "\x00"
		}, malformed + "Message length does not match input length."},
		{"extension", "n,,", func(f *final) string { return "c=biws,r=" + f.nonce + ",x=1,p=" + f.proof }, refused},
	} {
		for _, role := range []string{"alice", "nobody"} {
			client := newSASLClient(t, addr, role)
			f := &final{
				header: c.header, bare: "n=,r=abc", binding: base64.StdEncoding.EncodeToString([]byte(c.header)),
			}
			client.first(scramSHA256, f.header+f.bare, len(f.header+f.bare))
			typ, body := client.read()
			if typ != 'R' {
				t.Fatalf("%s: %c %q", c.what, typ, body)
			}
			f.challenge = string(body[4:])
			f.proof = f.prove(t, "secret")
			client.send('p', []byte(c.message(f)))
			want := c.want
			if role == "nobody" && want == "Authentication 12" {
				want = refused
			}
			if want == refused {
				want = fmt.Sprintf(refused, role)
			}
			if got := client.answer(); got != want {
				t.Errorf("%s of %s: %s, expected %s", c.what, role, got, want)
			}
		}
	}
}

// FuzzScramMessages looks for messages that make the checks panic.
func FuzzScramMessages(f *testing.F) {
	f.Add([]byte("n,,n=,r=abc"), []byte("c=biws,r=abcdef,p=AAAA"))
	f.Add([]byte("p=tls-server-end-point,,n=,r=abc,x=1"), []byte("c=,r=,x=,p="))
	f.Fuzz(func(t *testing.T, first, last []byte) {
		for _, plus := range []bool{false, true} {
			if flag, err := checkClientFirst(first, nil, plus); err == nil {
				_ = checkClientFinal(last, "r=abcdef,s=,i=4096", flag)
			}
		}
	})
}
