package faultnet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
)

// echo connects a to b, which sends back what it gets.
func echo(t *testing.T, n *Network) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	c, err := n.Dial(context.Background(), "a", "b", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return c
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, text string) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("%q, %v", got, err)
	}
}

// hearNothing looks a short while: that nothing comes cannot be waited for.
func hearNothing(t *testing.T, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d bytes, %v", n, err)
	}
}

func TestCutHoldsAndDelivers(t *testing.T) {
	for _, cut := range []route{{"a", "b"}, {"b", "a"}} {
		n := New(1)
		c := echo(t, n)
		say(t, c, "one")
		hear(t, c, "one")
		n.Cut(cut.from, cut.to)
		say(t, c, "two")
		hearNothing(t, c)
		n.Heal()
		hear(t, c, "two")
	}
}

func TestDialNeedsBothDirections(t *testing.T) {
	n := New(1)
	n.Cut("b", "a")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := n.Dial(ctx, "a", "b", "127.0.0.1:1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestDelayAndLoss(t *testing.T) {
	n := New(1)
	c := echo(t, n)
	n.Slow("a", "b", 30*time.Millisecond, time.Millisecond)
	n.Lose("b", "a", 1)
	start := time.Now()
	say(t, c, "x")
	hear(t, c, "x")
	if d := time.Since(start); d < 30*time.Millisecond+5*retransmit {
		t.Fatalf("%v", d)
	}
}

func TestCloseReachesTheOtherSide(t *testing.T) {
	n := New(1)
	c := echo(t, n)
	say(t, c, "x")
	hear(t, c, "x")
	c.Close()
	eventually.Holds(t, "the connection is closed", func() bool { return n.Conns("a", "b") == 0 })
}

// TestNoneAfterClose: who dials when the network is closed, as a port does whose node is being
// closed beside it, gets no connection that nobody would end.
func TestNoneAfterClose(t *testing.T) {
	n := New(1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n.Close()
	if c, err := n.Dial(t.Context(), "a", "b", l.Addr().String()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, %v", c, err)
	}
}
