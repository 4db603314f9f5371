package pgwire

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stream is a connection whose client has said everything already and hears nothing.
type stream struct {
	in  bytes.Reader
	out bytes.Buffer
}

func (s *stream) Read(p []byte) (int, error)       { return s.in.Read(p) }
func (s *stream) Write(p []byte) (int, error)      { return s.out.Write(p) }
func (s *stream) Close() error                     { return nil }
func (s *stream) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (s *stream) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (s *stream) SetDeadline(time.Time) error      { return nil }
func (s *stream) SetReadDeadline(time.Time) error  { return nil }
func (s *stream) SetWriteDeadline(time.Time) error { return nil }

// FuzzConversation sends arbitrary bytes through a whole connection: no panic reaches the guard of
// the session, every answer is well framed, and no more than a few buffers are allocated for it.
func FuzzConversation(f *testing.F) {
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if script, err := os.ReadFile(file); err == nil && !strings.Contains(string(script), "panic") {
			f.Add(conversationBytes(f, string(script)))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("panic")) || bytes.Contains(data, []byte("pg_sleep")) ||
			bytes.Contains(data, []byte("repeat")) ||
			bytes.Contains(data, []byte("generate_series")) {
			return // the script session obeys these
		}
		cfg := scriptConfig()
		cfg.MaxMessage = 64 << 10
		s := NewServer(cfg)
		defer s.Close()
		nc := &stream{}
		nc.in.Reset(data)
		c := newConn(s, nc)
		s.register(c)
		c.run()
		if cap(c.in.buf) > 256<<10 {
			t.Errorf("a buffer of %d bytes", cap(c.in.buf))
		}
		if strings.Contains(nc.out.String(), "internal error") {
			t.Error("a panic")
		}
		checkFrames(t, nc.out.Bytes())
	})
}

// conversationBytes returns what the client says in a trace.
func conversationBytes(f *testing.F, script string) []byte {
	var b []byte
	for _, line := range strings.Split(script, "\n") {
		if text, ok := strings.CutPrefix(line, "> "); ok {
			b = append(b, clientMessage(f, text)...)
		}
	}
	return b
}

// checkFrames sees that what the server sent is a sequence of messages, behind the single bytes
// that answer requests for encryption.
func checkFrames(t *testing.T, b []byte) {
	for len(b) > 0 && b[0] == 'N' && (len(b) < 5 || binary.BigEndian.Uint32(b[1:]) > 1<<20) {
		b = b[1:]
	}
	r := bytes.NewReader(b)
	for r.Len() > 0 {
		var head [5]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			t.Fatalf("a torn header in %q", b)
		}
		n := int(binary.BigEndian.Uint32(head[1:])) - 4
		if n < 0 || n > r.Len() || !strings.ContainsRune("RKSZEvNTDCI123nstGHdc", rune(head[0])) {
			t.Fatalf("message %c of %d bytes in %q", head[0], n, b)
		}
		_, _ = r.Seek(int64(n), io.SeekCurrent)
	}
}

// FuzzReader frames arbitrary bytes that arrive in arbitrary portions: the same messages come out
// as from the whole.
func FuzzReader(f *testing.F) {
	f.Add(frame('Q', []byte("select 1\x00")), uint8(1))
	f.Add(append(frame('P', make([]byte, 5000)), frame('S', nil)...), uint8(100))
	f.Add([]byte{'Q', 0, 0, 0, 3}, uint8(5))
	f.Fuzz(func(t *testing.T, data []byte, portion uint8) {
		var whole, parts reader
		whole.reset(bytes.NewReader(data), &chunks{}, 4000)
		parts.reset(&trickle{data, int(portion) + 1}, &chunks{}, 4000)
		for {
			typ, body, err := whole.message()
			typ2, body2, err2 := parts.message()
			if typ != typ2 || !bytes.Equal(body, body2) || (err == nil) != (err2 == nil) {
				t.Fatalf("%c %q %v, in portions of %d: %c %q %v", typ, body, err, portion, typ2, body2, err2)
			}
			if _, long := err.(*tooLong); err != nil && !long {
				return
			}
			whole.release()
			parts.release()
		}
	})
}
