package fault

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/node"
)

// arrowVariable names the environment variable with which this program, started as the command would be, is a node that reports each arrow of the moves it
// drives at an address, and goes on when it is told to.
const arrowVariable = "SHERD_FAULT_ARROWS"

// arrowNode makes this process a node, where it was started for that, and does not return then.
func arrowNode() {
	at := os.Getenv(arrowVariable)
	if at == "" || len(os.Args) < 2 || os.Args[1] != "start" {
		return
	}
	cfg := node.Config{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Knobs: node.Knobs{AtMove: func(arrow string) error { return reportArrow(at, arrow) }}}
	f := flag.NewFlagSet("start", flag.ExitOnError)
	f.StringVar(&cfg.Data, "data", "", "")
	f.StringVar(&cfg.SQLAddr, "sql-addr", "", "")
	f.StringVar(&cfg.HTTPAddr, "http-addr", "", "")
	f.StringVar(&cfg.Token, "token", "", "")
	f.Func("node-addr", "", func(s string) error { cfg.NodeAddr = s; return nil }) // the last counts
	f.Func("join", "", func(s string) error { cfg.Join = append(cfg.Join, s); return nil })
	err := f.Parse(os.Args[2:])
	if err == nil {
		err = serveArrowNode(cfg)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// serveArrowNode runs a node until it is killed.
func serveArrowNode(cfg node.Config) error {
	n, err := node.Open(context.Background(), cfg)
	if err != nil {
		return err
	}
	if _, err := fmt.Println("ready " + n.URL()); err != nil {
		return err
	}
	return n.Serve()
}

// reportArrow tells the test of an arrow, and waits until it says go. A test that is gone lets everything go on.
func reportArrow(at, arrow string) error {
	c, err := net.Dial("tcp", at)
	if err != nil {
		return nil
	}
	defer c.Close()
	if _, err := fmt.Fprintln(c, arrow); err == nil {
		_, _ = bufio.NewReader(c).ReadString('\n')
	}
	return nil
}

// arrows is where nodes report.
type arrows struct {
	t *testing.T

	mu     sync.Mutex
	want   string               // the arrow at which the next driver to come by is stopped; guarded by mu
	before map[string]func()    // what is done when a driver comes by an arrow, which waits for it; guarded by mu
	hit    chan chan<- struct{} // tells of that; who receives closes what it gets to let the driver go on
	seen   map[string]int       // how often drivers came by; guarded by mu
}

// listenArrows has nodes that are started from now on report to this test.
func listenArrows(t *testing.T) *arrows {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	t.Setenv(arrowVariable, l.Addr().String())
	a := &arrows{t: t, hit: make(chan chan<- struct{}), seen: map[string]int{}}
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go a.answer(c)
			}
		}
	}()
	return a
}

func (a *arrows) answer(c net.Conn) {
	defer c.Close()
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return
	}
	arrow := strings.TrimSpace(line)
	a.mu.Lock()
	a.seen[arrow]++
	do, stop := a.before[arrow], a.want == arrow
	delete(a.before, arrow)
	if stop {
		a.want = ""
	}
	a.mu.Unlock()
	if do != nil {
		do()
	}
	if stop {
		goOn := make(chan struct{})
		a.hit <- goOn
		<-goOn
	}
	_, _ = fmt.Fprintln(c, "go")
}

// stopAt has the next driver that comes by an arrow stop there. before is what is done at arrows on the way.
func (a *arrows) stopAt(arrow string, before map[string]func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.want, a.before = arrow, before
}

// await waits for the driver, and gives what lets it go on.
func (a *arrows) await(arrow string) chan<- struct{} {
	a.t.Helper()
	select {
	case goOn := <-a.hit:
		return goOn
	case <-time.After(recovery):
		a.t.Fatalf("no driver comes by %q", arrow)
		return nil
	}
}
