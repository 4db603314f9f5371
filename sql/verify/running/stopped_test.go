package running

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"google.golang.org/protobuf/proto"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/sparse"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/sql/verify/stopped"
	"github.com/sherddb/sherd/txn"
)

// left gives a copy of the data directory as it is now: what a process would leave that is killed.
func (k *checked) left() string {
	k.t.Helper()
	dir := filepath.Join(k.t.TempDir(), "left")
	if err := sparse.Dir(dir, k.dir); err != nil {
		k.t.Fatal(err)
	}
	makeDataDir(k.t, dir)
	return dir
}

// makeDataDir gives a directory the file that says whose it is.
func makeDataDir(t *testing.T, dir string) {
	t.Helper()
	whole := dir + ".whole"
	d, err := catalog.OpenDataDir(whole, "0.1.0", func(string) (catalog.Identity, error) { return catalog.NewCluster(), nil })
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	b, err := os.ReadFile(filepath.Join(whole, "VERSION"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "VERSION"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkStopped gives what is found wrong in a data directory, and what is said to be well, and looks that nothing in it has changed.
func checkStopped(t *testing.T, dir string) (faults, well []string) {
	t.Helper()
	before := contents(t, dir)
	d, err := catalog.ReadDataDir(dir, "0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = stopped.Check(t.Context(), stopped.Config{Dirs: []*catalog.DataDir{d}, Scratch: t.TempDir(), Release: "0.1.0", Version: clusterversion.Newest, Logger: slog.New(slog.DiscardHandler)},
		func(check, subject string, ok bool, detail string) error {
			list := &faults
			if ok {
				list = &well
			}
			*list = append(*list, check+"|"+subject+"|"+detail)
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if after := contents(t, dir); after != before {
		t.Errorf("the directory has changed:\n%s\nwas\n%s", after, before)
	}
	return faults, well
}

// contents names all files of a directory with their sizes, times and sums.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s %s", path, info.Mode(), info.ModTime())
		if !e.IsDir() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %d %x", len(content), sha256.Sum256(content))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// settled waits until the rows' own transactions are resolved, which is after their answers.
func (k *checked) settled() {
	k.t.Helper()
	if faults, _ := k.faults(); faults != nil {
		k.t.Fatal(faults)
	}
}

// closed ends the process in order and gives its directory.
func (k *checked) closed() string {
	k.t.Helper()
	k.settled()
	if err := k.host.Close(); err != nil {
		k.t.Fatal(err)
	}
	return k.left()
}

// Both after an orderly end and after a kill, all is well, and the rows are those that were written.
func TestCheckStopped(t *testing.T) {
	k := openChecked(t)
	k.settled()
	killed := k.left()
	var reports [2][]string
	for i, dir := range []string{killed, k.closed()} {
		faults, well := checkStopped(t, dir)
		if len(faults) != 0 || !slices.Contains(well, "rows|postgres.public.docs|200 rows") || !slices.Contains(well, "index|postgres.public.docs|200 entries") {
			t.Errorf("%q\n%q", faults, well)
		}
		reports[i] = slices.DeleteFunc(well, func(s string) bool { return strings.HasPrefix(s, "log|") })
	}
	if !slices.Equal(reports[0], reports[1]) {
		t.Errorf("killed: %q\nclosed: %q", reports[0], reports[1])
	}
}

// tables gives the tables of the databases in a data directory, of which there must be some.
func tables(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "fragments", "*", "data", "*.sst"))
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	return list
}

func flip(t *testing.T, path string, at func(size int) int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at(len(b))] ^= 0x40
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A byte that has changed anywhere in a table is found, and the table is named; the other fragment is checked all the same.
func TestCheckStoppedFlippedByte(t *testing.T) {
	k := openChecked(t)
	dir := k.closed()
	path := tables(t, dir)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]func(size int) int{
		"first":         func(int) int { return 0 },
		"middle":        func(n int) int { return n / 2 },
		"index":         func(n int) int { return n - 60 },
		"checksum":      func(n int) int { return n - 6 },
		"checksum size": func(n int) int { return n - 3 },
		"last":          func(n int) int { return n - 1 },
	} {
		t.Run(name, func(t *testing.T) {
			flip(t, path, at)
			faults, well := checkStopped(t, dir)
			if len(faults) != 2 || !strings.Contains(faults[0], "data/"+filepath.Base(path)+": ") || !strings.HasSuffix(faults[1], "|its rows were not checked") {
				t.Errorf("%q", faults)
			}
			if n := len(slices.DeleteFunc(well, func(s string) bool { return !strings.HasPrefix(s, "storage|") })); n != 1 {
				t.Errorf("%d fragments were read", n)
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if faults, _ := checkStopped(t, dir); len(faults) != 2 || !strings.HasSuffix(faults[0], ": the file is missing") {
			t.Errorf("%q", faults)
		}
	})
}

// A row that is gone from the database, without a transaction, is missed by its entry and by the statistics.
func TestCheckStoppedLostRow(t *testing.T) {
	const id = "docs/7"
	k := openChecked(t)
	dir := k.closed()
	home := bucketOf(t, id)
	n := 0
	for _, data := range dataFolders(t, dir) {
		db, err := badger.OpenManaged(badger.DefaultOptions(data).WithCompression(options.None).WithLogger(nil))
		if err != nil {
			t.Fatal(err)
		}
		at := db.NewTransactionAt(uint64(txn.MaxTimestamp), false)
		item, err := at.Get(rowKey(docsID, id, home))
		if err == nil {
			b := db.NewManagedWriteBatch()
			if err := b.DeleteAt(rowKey(docsID, id, home), item.Version()); err != nil {
				t.Fatal(err)
			}
			if err := b.Flush(); err != nil {
				t.Fatal(err)
			}
			n++
		}
		at.Discard()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	faults, _ := checkStopped(t, dir)
	if n != 1 || len(faults) != 2 || !strings.Contains(faults[0], "index|postgres.public.docs|") || !strings.HasSuffix(faults[0], "that is not there") ||
		!strings.HasPrefix(faults[1], "statistics|postgres.public.docs|") {
		t.Errorf("%d rows, %q", n, faults)
	}
}

func dataFolders(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "fragments", "*", "data"))
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	return list
}

// What is damaged in the shared log is named; what is only there cannot be checked.
func TestCheckStoppedLog(t *testing.T) {
	k := openChecked(t)
	dir := k.left()
	logs, err := filepath.Glob(filepath.Join(dir, "log", "0*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	flip(t, logs[0], func(int) int { return 200 })
	faults, _ := checkStopped(t, dir)
	if len(faults) != 3 || !strings.HasPrefix(faults[0], "log|log|") || !strings.Contains(faults[0], filepath.Base(logs[0])+" is damaged") {
		t.Errorf("%q", faults)
	}
}

// Definitions that do not hold together are named: a bucket map with a hole; and what can be checked without them is.
func TestCheckStoppedMapWithHole(t *testing.T) {
	k := openChecked(t)
	if err := k.catalog.Snapshot(); err != nil {
		t.Fatal(err)
	}
	dir := k.left()
	harmSnapshot(t, dir, func(s *pb.Snapshot) {
		for _, o := range s.GetObjects() {
			if d := o.GetDatabase(); d != nil {
				d.Map.Ranges = slices.Delete(d.Map.Ranges, 1, 2)
			}
		}
	})
	faults, well := checkStopped(t, dir)
	if len(faults) == 0 || !strings.Contains(faults[0], `database "postgres": `) || !strings.HasPrefix(faults[0], "catalog|catalog|snapshot ") {
		t.Errorf("%q", faults)
	}
	if len(well) == 0 || !strings.Contains(well[0], "rows were not checked, for the catalog cannot be read") {
		t.Errorf("%q", well)
	}
}

// harmSnapshot changes what the catalog's newest snapshot says, with a checksum that fits.
func harmSnapshot(t *testing.T, dir string, harm func(*pb.Snapshot)) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "catalog", "snapshots", "*", "state.bin"))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	b, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	var s pb.Snapshot
	if err := proto.Unmarshal(b[1:], &s); err != nil {
		t.Fatal(err)
	}
	harm(&s)
	changed, err := proto.Marshal(&s)
	if err != nil {
		t.Fatal(err)
	}
	changed = append(b[:1:1], changed...)
	if err := os.WriteFile(list[0], changed, 0o600); err != nil {
		t.Fatal(err)
	}
	meta := filepath.Join(filepath.Dir(list[0]), "meta.json")
	m, err := os.ReadFile(meta)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(m, &fields); err != nil {
		t.Fatal(err)
	}
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	sum.Write(changed)
	if fields["CRC"], err = json.Marshal(sum.Sum(nil)); err != nil {
		t.Fatal(err)
	}
	fields["Size"] = fmt.Append(nil, len(changed))
	if m, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(meta, m, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A transaction in doubt is named, and all else is well.
func TestCheckStoppedInDoubt(t *testing.T) {
	k := openChecked(t)
	k.settled()
	k.x = teststore.Begin(k.host.Client)
	tx := k.owner(bucketOf(t, "docs/x"), false)
	k.put(docsID, "docs/x", bucketOf(t, "docs/x"), document(t, "{}"))
	p := teststore.Preparing{Clock: k.clock, PrepareRequest: txn.PrepareRequest{Coordinator: tx.Fragment(), Writers: []txn.FragmentID{tx.Fragment()}}}
	if err := p.Prepare(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	faults, well := checkStopped(t, k.left())
	if len(faults) != 0 || !slices.Contains(well, "rows|postgres.public.docs|200 rows") || !slices.ContainsFunc(well, func(s string) bool {
		return strings.HasPrefix(s, "transactions|postgres$") && strings.Contains(s, "transaction "+k.x.ID().String()+", prepared at ")
	}) {
		t.Errorf("%q\n%q", faults, well)
	}
	if out, err := tx.Decide(t.Context(), txn.Decision{ID: k.x.ID(), C: p.C, Outcome: txn.Committed, Writers: p.Writers}); out != txn.Committed {
		t.Fatal(out, err)
	}
}
