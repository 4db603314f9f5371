package integration

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew; only with SHERD_COMPARE_URL")

// Set once by TestMain.
var (
	binary  string // the command under test
	scratch string // a directory for what several tests share
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	var err error
	if scratch, err = os.MkdirTemp("", "sherd-integration-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	if binary = os.Getenv("SHERD_BINARY"); binary == "" {
		if binary, err = Build(scratch); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	code := m.Run()
	if p := shared.process; p != nil {
		p.Kill()
	}
	return ExitCode(code)
}

// shared is a process that tests use which neither end nor harm it.
var shared struct {
	once     sync.Once
	process  *Process
	packages sync.Once
	err      error
}

// sharedURL is the server for tests of SQL: a process that they share, or the one they are to be compared with.
func sharedURL(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"SHERD_COMPARE_URL", "SHERD_TEST_URL"} { // the latter is a node that runs already, as one of a cluster
		if url := os.Getenv(name); url != "" {
			return url
		}
	}
	return sharedProcess(t).URL
}

func sharedProcess(t *testing.T) *Process {
	t.Helper()
	shared.once.Do(func() { shared.process, shared.err = Start(binary, filepath.Join(scratch, "shared")) })
	if shared.process == nil {
		t.Fatal(shared.err)
	}
	if shared.process.Exited() {
		t.Fatalf("the shared process is gone; its log:\n%s", shared.process.Log())
	}
	return shared.process
}

// withPackages makes sure that the shared server has the table packages, loaded as a user loads it.
func withPackages(t *testing.T) string {
	t.Helper()
	url := sharedURL(t)
	shared.packages.Do(func() {
		out, err := exec.Command(binary, "import", packagesFile, "--table", "packages", "--id", "id", "--doc", "doc", "--url", url).CombinedOutput()
		if err != nil {
			shared.err = fmt.Errorf("sherd import: %w\n%s", err, out)
		}
		t.Logf("%s", out)
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return url
}

const packagesFile = "testdata/debian-packages.jsonl.gz"
