package integration

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// aptMu prevents tests from installing packages at the same time.
var aptMu sync.Mutex

// Need checks that a command works, and installs Debian packages if it does not. If that fails, the
// test fails: it is never skipped.
func Need(t testing.TB, packages []string, probe ...string) {
	t.Helper()
	aptMu.Lock()
	defer aptMu.Unlock()
	if exec.Command(probe[0], probe[1:]...).Run() == nil {
		return
	}
	for _, args := range [][]string{{"apt-get", "update", "-q"},
		append([]string{"apt-get", "install", "-y", "-q", "--no-install-recommends"}, packages...)} {
		cmd := exec.Command("env", append([]string{"DEBIAN_FRONTEND=noninteractive"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("this test needs %s; %s: %v\n%s", strings.Join(packages, " "), strings.Join(args, " "), err, out)
		}
	}
	if out, err := exec.Command(probe[0], probe[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(probe, " "), err, out)
	}
}
