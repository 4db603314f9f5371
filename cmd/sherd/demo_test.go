package main

import (
	"bytes"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestDemoRefusesFlags(t *testing.T) {
	for args, says := range map[string]string{
		"--nodes|10":                           "a demo has 1 to 9 nodes",
		"--nodes|2|--regions|eu,us,eu":         "--regions eu,us,eu: there are more of them than nodes, 2",
		"--nodes|2|--regions|eu,a=b":           `the value of the label "region=a=b" holds one of = ! | and the comma`,
		"--nodes|2|--regions|eu, us":           `has blanks around it; write eu,eu,us`,
		"--nodes|3|--sql-addr|127.0.0.1:63534": "--sql-addr 127.0.0.1:63534: the ports of all nodes follow from it, here up to 65536, and they end at 65535",
	} {
		cmd := root()
		cmd.SetArgs(append([]string{"demo"}, strings.Split(args, "|")...))
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), says) || exitCode(err) != 2 {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// ready is closed when something has been written.
type ready struct {
	once sync.Once
	is   chan struct{}
	bytes.Buffer
}

func (r *ready) Write(b []byte) (int, error) {
	defer r.once.Do(func() { close(r.is) })
	return r.Buffer.Write(b)
}

// TestDemoEndsWithTerminal: nobody is left to press Ctrl-C.
func TestDemoEndsWithTerminal(t *testing.T) {
	heard := make(chan os.Signal, 1)
	// also where the tests themselves were begun to outlive their terminal: what ignores the signal
	// is not ended by it
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	out, ended := &ready{is: make(chan struct{})}, make(chan error, 1)
	cmd := root()
	cmd.SetOut(out)
	cmd.SetArgs([]string{"demo", "--sql-addr", "127.0.0.1:0", "--data", t.TempDir()})
	go func() { ended <- cmd.ExecuteContext(t.Context()) }()
	select {
	case <-out.is:
	case err := <-ended:
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the demo goes on")
	}
}
