package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/settings"
)

// What is given goes before the environment, and that before the file.
func TestFlagsFromElsewhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sherd.toml")
	text := "data = \"/file\"\nsql-addr = \"127.0.0.1:1\"\nfragments = 7\njoin = [\"a:1\", \"b:2\"]\nhttp-addr = \"file:1\"\nmemory = \"25%\"\n[labels]\nzone = \"a\"\nrack = \"3\"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHERD_CONFIG", file)
	t.Setenv("SHERD_HTTP_ADDR", "environment:1")
	t.Setenv("SHERD_SQL_ADDR", "environment:2")
	cmd := startCommand()
	if err := cmd.ParseFlags([]string{"--sql-addr", "given:2"}); err != nil {
		t.Fatal(err)
	}
	if err := flagsFromElsewhere(cmd, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"data": "/file", "sql-addr": "given:2", "http-addr": "environment:1", "fragments": "7", "join": "[a:1,b:2]",
		"labels": "rack=3,zone=a", "node-addr": defaultNodeAddr,
		"memory": "25%",
	} {
		if got := cmd.Flags().Lookup(name).Value.String(); got != want {
			t.Errorf("--%s is %s, not %s", name, got, want)
		}
	}
}

func TestBadConfig(t *testing.T) {
	for text, want := range map[string]string{
		"sql_addr = \"x\"":      `there is no setting "sql_addr"`,
		"config = \"x\"":        `there is no setting "config"`,
		"data = ":               "is not valid TOML",
		"fragments = \"many\"":  "fragments: ",
		"join = [1]":            "a list of strings is expected",
		"data = 2026-11-21":     "a string, a number, a list or a table is expected",
		"[labels]\nzone = true": "zone: a string is expected",
	} {
		file := filepath.Join(t.TempDir(), "sherd.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := startCommand()
		if err := cmd.ParseFlags([]string{"--config", file}); err != nil {
			t.Fatal(err)
		}
		if err := flagsFromElsewhere(cmd, nil); err == nil || !strings.Contains(err.Error(), want) ||
			exitCode(err) != 2 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestVersion: a person who looks for the version tries the flag, as of other programs, or the
// command.
func TestVersion(t *testing.T) {
	var serverError []string
	for _, args := range [][]string{{"version"}, {"--version"}, {"-v"}} {
		var out bytes.Buffer
		cmd := root()
		cmd.SetArgs(args)
		cmd.SetOut(&out)
		if err := cmd.Execute(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		serverError = append(serverError, out.String())
	}
	want := "sherd " + settings.Version + " (PostgreSQL " + settings.ServerVersion + " compatible)\n"
	for i, s := range serverError {
		if s != want {
			t.Errorf("%d: %q, want %q", i, s, want)
		}
	}
}
