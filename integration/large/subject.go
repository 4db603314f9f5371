package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sherddb/sherd/integration"
)

// subject is the process that is measured.
type subject struct {
	binary, data, http string
	memory             int // MiB
	process            *integration.Process
}

func (s *subject) flags() []string {
	flags := []string{"--memory", fmt.Sprint(s.memory, "MB")}
	if s.http != "" {
		flags = append(flags, "--http-addr", s.http)
	}
	return flags
}

func (s *subject) start(ctx context.Context) (err error) {
	if s.process, err = integration.Start(s.binary, s.data, s.flags()...); err != nil {
		return err
	}
	return ctx.Err()
}

func (s *subject) kill() {
	if s.process != nil && !s.process.Exited() {
		s.process.Kill()
	}
}

func (s *subject) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, s.process.URL)
}

// usage is the memory of a process in KiB.
type usage struct{ peak, resident, anon int }

func (s *subject) usage() (u usage, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.PID()))
	if err != nil {
		return u, err
	}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.Atoi(string(f[1]))
		switch string(f[0]) {
		case "VmHWM:":
			u.peak = n
		case "VmRSS:":
			u.resident = n
		case "RssAnon:":
			u.anon = n
		}
	}
	return u, nil
}

// processor returns the processor time that the process has used.
func (s *subject) processor() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.PID()))
	if err != nil {
		return 0
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	ticks := 0
	for _, x := range f[11:13] { // utime and stime
		n, _ := strconv.Atoi(string(x))
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// forgetPeak resets the peak to the present resident memory.
func (s *subject) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.process.PID()), []byte("5"), 0)
}

// disk returns the size of the data on disk.
func (s *subject) disk() (n int64) {
	_ = filepath.WalkDir(s.data, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if i, err := d.Info(); err == nil {
				n += i.Size()
			}
		}
		return nil // files come and go meanwhile
	})
	return n
}

// watch samples values for which the kernel keeps no peak, until stop is called.
func (s *subject) watch() (stop func() (anon int)) {
	quit, done, most := make(chan struct{}), make(chan struct{}), 0
	go func() {
		defer close(done)
		t := time.NewTicker(20 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-quit:
				return
			case <-t.C:
			}
			if u, err := s.usage(); err == nil {
				most = max(most, u.anon)
			}
		}
	}()
	return func() int {
		close(quit)
		<-done
		return most
	}
}

// small runs small transactions next to the large one and records the longest time that one took.
type small struct {
	stop chan struct{}
	wg   sync.WaitGroup
	max  time.Duration
	n    int
	err  error
}

func (s *subject) small(ctx context.Context) (*small, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "CREATE TABLE IF NOT EXISTS small(id int PRIMARY KEY, n int)"); err != nil {
		return nil, err
	}
	x := &small{stop: make(chan struct{})}
	x.wg.Add(1)
	go func() {
		defer x.wg.Done()
		defer conn.Close(context.WithoutCancel(ctx))
		for i := 0; ; i++ {
			select {
			case <-x.stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			began := time.Now()
			if _, x.err = conn.Exec(ctx, "INSERT INTO small VALUES ($1, 1) ON CONFLICT (id) DO UPDATE "+
				"SET n = small.n + 1", i%100); x.err != nil {
				return
			}
			x.max = max(x.max, time.Since(began))
			x.n++
		}
	}()
	return x, nil
}

func (x *small) end() (time.Duration, error) {
	close(x.stop)
	x.wg.Wait()
	if x.err != nil {
		return x.max, fmt.Errorf("a small transaction beside it: %w", x.err)
	}
	return x.max, nil
}
