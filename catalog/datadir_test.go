package catalog

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func fixedIdentity(string) (Identity, error) { return Identity{ClusterID: testCluster, NodeID: 1}, nil }

func TestDataDirLifecycle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "data")
	d, err := OpenDataDir(path, "0.1.0", fixedIdentity)
	if err != nil || !d.Created || d.NodeID != 1 || d.ClusterID != testCluster {
		t.Fatalf("%+v, %v", d, err)
	}
	golden, err := os.ReadFile("testdata/VERSION.v1")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(d.Join("VERSION")); err != nil || string(got) != string(golden) {
		t.Errorf("VERSION holds\n%s%v", got, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	neverFresh := func(string) (Identity, error) { t.Error("made anew"); return Identity{}, nil }
	d, err = OpenDataDir(path, "0.2.0", neverFresh)
	if err != nil || d.Created || d.ClusterID != testCluster {
		t.Fatalf("%+v, %v", d, err)
	}
	if got, _ := os.ReadFile(d.Join("VERSION")); !strings.Contains(string(got), "\nproduct 0.2.0\n") {
		t.Errorf("VERSION after an upgrade:\n%s", got)
	}
	d.Close()
}

// The cluster's keys are in it: a new directory is closed to others, and one that was opened to them since is refused.
func TestDataDirModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(path, "certs"), 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDataDir(path, "0.1.0", fixedIdentity)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	d.Close()
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("the data directory %s is open to other users (mode 0750), and holds the cluster's keys: chmod 700 %s", path, path)
	if _, err := OpenDataDir(path, "0.1.0", fixedIdentity); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestDataDirRefusals(t *testing.T) {
	good := dirVersion{format: 1, product: "0.1.0", Identity: Identity{testCluster, 1}}
	newer := good
	newer.format, newer.product = 2, "3.0.0"
	tests := []struct {
		name  string
		files map[string]string
		err   string // with DIR for the path; "" is accepted
	}{
		{"empty", nil, ""},
		{"creation cut short", map[string]string{"LOCK": "", "VERSION.new": "Sher"}, ""},
		{"foreign", map[string]string{"PG_VERSION": "15\n"}, `DIR is not a data directory of Sherd: it holds "PG_VERSION" and no file VERSION. Name an empty or a new directory, or restore the missing file`},
		{"another program's VERSION", map[string]string{"VERSION": "15\n"}, `the data directory DIR is damaged: file VERSION: it does not begin with "Sherd data directory". Restore it from a backup of the directory`},
		{"empty VERSION", map[string]string{"VERSION": ""}, `the data directory DIR is damaged: file VERSION: it does not begin with "Sherd data directory". Restore it from a backup of the directory`},
		{"changed VERSION", map[string]string{"VERSION": strings.Replace(string(good.text()), "node 1", "node 2", 1)}, `the data directory DIR is damaged: file VERSION: its checksum is wrong. Restore it from a backup of the directory`},
		{"cut VERSION", map[string]string{"VERSION": string(good.text()[:60])}, `the data directory DIR is damaged: file VERSION: its checksum is wrong. Restore it from a backup of the directory`},
		{"newer", map[string]string{"VERSION": string(newer.text())}, `the data directory DIR has format 2 and was written by Sherd 3.0.0; this is Sherd 0.1.0, which reads formats up to 1. Start the newer release`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := OpenDataDir(dir, "0.1.0", fixedIdentity)
			if err == nil {
				d.Close()
			}
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), dir, "DIR")
			}
			if got != tt.err {
				t.Errorf("got  %s\nwant %s", got, tt.err)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDataDir(file, "0.1.0", fixedIdentity); err == nil {
		t.Error("a file was taken for a directory")
	}
}

// TestDataDirSecondProcess holds the directory in a child of its own, and takes it over once that one is killed.
func TestDataDirSecondProcess(t *testing.T) {
	if dir := os.Getenv("CATALOG_TEST_HOLD"); dir != "" {
		if _, err := OpenDataDir(dir, "0.1.0", fixedIdentity); err != nil {
			t.Fatal(err)
		}
		fmt.Println("held")
		bufio.NewReader(os.Stdin).ReadString('\n') // until killed
		return
	}
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestDataDirSecondProcess$")
	child.Env = append(os.Environ(), "CATALOG_TEST_HOLD="+dir)
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	want := fmt.Sprintf("the data directory %s is in use by another process of Sherd (pid %d). Stop that one first, or name another directory", dir, child.Process.Pid)
	if _, err := OpenDataDir(dir, "0.1.0", fixedIdentity); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	want = fmt.Sprintf("the data directory %s is in use by another process of Sherd (pid %d). Stop it first, or ask the running node", dir, child.Process.Pid)
	if _, err := ReadDataDir(dir, "0.1.0"); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	d, err := OpenDataDir(dir, "0.1.0", fixedIdentity)
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	d.Close()
}

// Who reads a directory changes nothing there, and keeps it from being opened meanwhile.
func TestReadDataDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := ReadDataDir(dir, "0.1.0"); err == nil || err.Error() != "there is no data directory "+dir {
		t.Error(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDataDir(dir, "0.1.0"); err == nil || err.Error() != dir+" is not a data directory of Sherd: it has no file VERSION" {
		t.Error(err)
	}
	d, err := OpenDataDir(dir, "0.1.0", fixedIdentity)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	before, _ := os.ReadFile(d.Join("VERSION"))
	var readers []*DataDir
	for range 2 {
		r, err := ReadDataDir(dir, "0.2.0")
		if err != nil || r.ClusterID != testCluster || r.NodeID != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		readers = append(readers, r)
	}
	if after, _ := os.ReadFile(d.Join("VERSION")); string(after) != string(before) {
		t.Errorf("VERSION has become %s", after)
	}
	if _, err := OpenDataDir(dir, "0.1.0", fixedIdentity); err == nil || !strings.Contains(err.Error(), "is in use by another process") {
		t.Error(err)
	}
	for _, r := range readers {
		r.Close()
	}
	newer := dirVersion{format: DirFormat + 1, product: "9.0.0", Identity: Identity{ClusterID: testCluster, NodeID: 1}}
	if err := os.WriteFile(d.Join("VERSION"), newer.text(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDataDir(dir, "0.1.0"); err == nil || !strings.HasSuffix(err.Error(), "was written by Sherd 9.0.0; this is Sherd 0.1.0, which reads formats up to 1. Start the newer release") {
		t.Error(err)
	}
}

func TestNewCluster(t *testing.T) {
	a, b := NewCluster(), NewCluster()
	if !uuidForm.MatchString(a.ClusterID) || a == b || a.NodeID != 1 {
		t.Errorf("%+v %+v", a, b)
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add((dirVersion{1, "0.1.0", Identity{testCluster, 1}}).text())
	f.Add((dirVersion{2, "0.1.0", Identity{}}).text())
	f.Add([]byte("Sherd data directory\ncrc32 "))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parseVersion(data)
		if err == nil && v.format <= DirFormat && (v.NodeID == 0 || v.ClusterID == "" || v.product == "") {
			t.Errorf("accepted %q as %+v", data, v)
		}
	})
}
