package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sherddb/sherd/node"
)

// started returns what the command line of a node is refused with. Every case here must be refused
// before anything is opened or made.
func started(t *testing.T, args ...string) error {
	t.Helper()
	cmd := root()
	data := filepath.Join(t.TempDir(), "data")
	cmd.SetArgs(append([]string{"start", "--data", data}, args...))
	err := cmd.Execute()
	if _, there := os.Stat(data); there == nil {
		t.Errorf("%v: a data directory was made", args)
	}
	return err
}

func TestStartRefusesFlags(t *testing.T) {
	for _, c := range []struct {
		args string // separated by bars
		says string
	}{
		{"--sql-addr|nonsense",
			`--sql-addr "nonsense": missing port in address; it is HOST:PORT, such as 127.0.0.1:5433`},
		{"--sql-addr|127.0.0.1:http", `--sql-addr "127.0.0.1:http": the port "http" is not a number from 0 to 65535`},
		{"--sql-addr|127.0.0.1:70000", `the port "70000" is not a number`},
		{"--sql-addr|", `--sql-addr "": missing port in address; it is HOST:PORT`},
		{"--node-addr|http://10.0.0.1:7433",
			`--node-addr "http://10.0.0.1:7433": too many colons in address; it is HOST:PORT, such as 127.0.0.1:7433`},
		{"--node-addr|10.0.0.1/24:7433", `"10.0.0.1/24" is not the name or the address of a machine`},
		{"--http-addr|8433", `--http-addr "8433": missing port in address; it is HOST:PORT, such as 127.0.0.1:8433`},
		{"--advertise-addr|0.0.0.0:7433",
			`--advertise-addr "0.0.0.0:7433": it names no machine; it is HOST or HOST:PORT, such as 10.0.0.1 or 10.0.0.1:7433`},
		{"--advertise-addr|10.0.0.1:0", `--advertise-addr "10.0.0.1:0": port 0 is none`},
		{"--sql-advertise-addr|a b", `--sql-advertise-addr "a b": "a b" is not the name or the address of a machine`},
		{"--join|10.0.0.1",
			`--join "10.0.0.1": missing port in address; it is HOST:PORT of another node's --node-addr, such as 10.0.0.1:7433`},
		{"--join|10.0.0.1:7433,:7434", `--join ":7434": it names no machine`},
		{"--labels|zone",
			`"zone" for "--labels" flag: "zone" is not NAME=VALUE: it has no "="; write zone=a or zone=a,disk=ssd`},
		{"--labels|=x", `the name of the label "=x" is empty; write zone=a`},
		{"--labels|zone=", `the value of the label "zone=" is empty`},
		{"--labels| zone=a", `has blanks around it`},
		{"--labels|zone=a,zone=b", `the label "zone" is there twice`},
		{"--labels|zone=a|--labels|zone=b", `the label "zone" is there twice`},
		{"--replication-factor|0", `--replication-factor 0: it is between 1 and 15`},
		{"--replication-factor|16", `--replication-factor 16: it is between 1 and 15`},
		{"--fragments|0", `--fragments 0: a database has at least one`},
		{"--role|leader", `--role "leader": it is all or gateway`},
		{"--memory|lots", `"lots" for "--memory" flag: "lots" is neither a percentage nor a size; write 50% or 4GB`},
		{"--memory|120%", `"120%" is not a percentage above 0% and up to 100%`},
		{"--token|a|--token-file|b", `--token and --token-file are mutually exclusive`},
	} {
		err := started(t, strings.Split(c.args, "|")...)
		if err == nil || !strings.Contains(err.Error(), c.says) || exitCode(err) != 2 {
			t.Errorf("%s: %v", c.args, err)
		}
	}
	t.Setenv("SHERD_LABELS", "zone=a=b")
	if err := started(t); err == nil || !strings.Contains(err.Error(), `environment variable SHERD_LABELS: `) ||
		!strings.Contains(err.Error(), `the label "zone=a=b"`) {
		t.Error(err)
	}
	os.Unsetenv("SHERD_LABELS")
	file := filepath.Join(t.TempDir(), "sherd.toml")
	if err := os.WriteFile(file, []byte("labels = { zone = \"\" }"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := started(t, "--config", file); err == nil || !strings.Contains(err.Error(), file+": labels: ") ||
		!strings.Contains(err.Error(), `the value of the label "zone=" is empty`) {
		t.Error(err)
	}
}

func TestExplainListen(t *testing.T) {
	for errno, says := range map[syscall.Errno]string{
		syscall.EADDRINUSE:    "--node-addr 10.0.0.1:7433: address already in use; if several nodes run on one machine, each needs its own --sql-addr, --node-addr and --http-addr",
		syscall.EADDRNOTAVAIL: "--node-addr 10.0.0.1:7433: cannot assign requested address; it is not an address of this machine",
		syscall.EACCES:        "--node-addr 10.0.0.1:7433: permission denied; ports below 1024",
	} {
		err := explainListen(
			&node.ListenError{For: "other nodes", Setting: "node-addr", Addr: "10.0.0.1:7433", Err: errno},
		)
		if !strings.Contains(err.Error(), says) || !errors.Is(err, errno) {
			t.Error(err)
		}
	}
}
