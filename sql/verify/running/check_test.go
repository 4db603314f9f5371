package running

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

const (
	docsID   = uint32(catalog.FirstOID) // storage id of a collection
	ordersID = docsID + 10              // the same with a policy
)

// collection is a table (id text PRIMARY KEY, doc jsonb NOT NULL).
func collection(name string, id uint32, policy *shardmap.Policy) *catalog.Table {
	return &catalog.Table{
		OID: id, Database: catalog.PostgresDB, Schema: catalog.PostgresPublic, Name: name, Owner: catalog.BootstrapRole, Kind: catalog.KindTable,
		StorageID: id, Anchors: true, Document: 2, NextAttNum: 3, Policy: policy, PolicyValidated: policy != nil,
		Columns: []catalog.Column{
			{AttNum: 1, Name: "id", Type: types.Text, Typmod: -1, NotNull: true}, {AttNum: 2, Name: "doc", Type: types.JSONB, Typmod: -1, NotNull: true},
		},
		Constraints: []catalog.Constraint{{OID: id + 1, Name: name + "_pkey", Kind: catalog.PrimaryKey, Columns: []int16{1}, Valid: true, Index: id + 2}},
		Indexes:     []catalog.Index{{OID: id + 2, Name: name + "_pkey", StorageID: 1, Columns: []int16{1}, Unique: true, Primary: true}},
	}
}

// checked is a database whose fragments the test writes to behind the executor's back.
type checked struct {
	t       *testing.T
	dir     string
	catalog *catalog.Catalog
	clock   *txn.Clock
	host    *store.Store
	checker *Checker
	x       *kv.Transaction
}

func openChecked(t *testing.T) *checked {
	t.Helper()
	dir := t.TempDir()
	c := teststore.Catalog(t, dir, 2)
	policy, err := shardmap.ParseOptions(shardmap.Options{By: "Customer"})
	if err != nil {
		t.Fatal(err)
	}
	for oid := catalog.OID(0); oid < ordersID+10; {
		if oid, err = c.NewOID(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = c.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
		if err := ch.PutTable(collection("docs", docsID, nil)); err != nil {
			return err
		}
		return ch.PutTable(collection("orders", ordersID, policy))
	})
	if err != nil {
		t.Fatal(err)
	}
	clock := txn.NewClock(time.Now, time.Minute)
	h := teststore.Open(t, dir, c, clock)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	k := &checked{t: t, dir: dir, catalog: c, clock: clock, host: h,
		checker: New(Config{Node: 1, Catalog: c, Client: h.Client, Here: h.Fragments})}
	k.write(func() {
		for i := range 200 {
			id := fmt.Sprintf("docs/%d", i)
			k.put(docsID, id, bucketOf(t, id), document(t, fmt.Sprintf(`{"n": %d}`, i)))
		}
		k.put(ordersID, "orders/1$c/1", bucketOf(t, "orders/1$c/1"), document(t, `{"Customer": "c/1"}`))
	})
	return k
}

func bucketOf(t *testing.T, id string) uint32 {
	t.Helper()
	b, err := shardmap.BucketOf(id)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(b)
}

func document(t *testing.T, text string) string {
	t.Helper()
	d, err := jsonb.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(d)
}

func rowKey(table uint32, id string, bucket uint32) []byte {
	return types.AppendKey(keyspace.RowPrefix(table, bucket, 0), types.Text, types.NewText(id), false)
}

func entryKey(table uint32, id string) []byte {
	return types.AppendKey(keyspace.IndexPrefix(table, 1), types.Text, types.NewText(id), false)
}

func rowValue(id, doc string) []byte {
	return types.AppendRow(nil, []types.Datum{types.NewText(id), types.NewJSONB(doc)})
}

func bucketValue(b uint32) []byte { return []byte{byte(b >> 16), byte(b >> 8), byte(b)} }

// write runs fn in a transaction.
func (k *checked) write(fn func()) {
	k.t.Helper()
	k.x = teststore.Begin(k.host.Client)
	fn()
	if _, err := k.x.Commit(k.t.Context(), 0); err != nil {
		k.t.Fatal(err)
	}
}

// owner returns a transaction in the fragment that owns a bucket or, with other, in another fragment.
func (k *checked) owner(bucket uint32, other bool) *storage.Tx {
	k.t.Helper()
	d := k.catalog.View().Database(catalog.PostgresDB)
	id := d.Map.Lookup(shardmap.Bucket(bucket))
	if other {
		i := slices.IndexFunc(d.Fragments, func(f catalog.Fragment) bool { return f.ID != id })
		id = d.Fragments[i].ID
	}
	p, err := k.x.Part(id)
	if err != nil {
		k.t.Fatal(err)
	}
	return teststore.Tx(p)
}

func (k *checked) putAt(tx *storage.Tx, key, value []byte) {
	k.t.Helper()
	if keyspace.IsRow(key) {
		if _, err := tx.Lock(k.t.Context(), key, txn.LockRequest{Mode: txn.Update, T: txn.MaxTimestamp}); err != nil {
			k.t.Fatal(err)
		}
	}
	err := tx.Delete(key)
	if value != nil {
		err = tx.Put(key, value)
	}
	if err != nil {
		k.t.Fatal(err)
	}
}

// put writes a row and its entry.
func (k *checked) put(table uint32, id string, bucket uint32, doc string) {
	k.t.Helper()
	tx := k.owner(bucket, false)
	k.putAt(tx, rowKey(table, id, bucket), rowValue(id, doc))
	k.putAt(tx, entryKey(table, id), bucketValue(bucket))
}

// faults gives what the check finds wrong, and how many rows it says all is well in.
func (k *checked) faults() (faults []string, ok int) {
	k.t.Helper()
	err := k.checker.Check(k.t.Context(), catalog.PostgresDB, func(check, subject string, good bool, detail string) error {
		if good {
			ok++
		} else {
			faults = append(faults, check+"|"+subject+"|"+detail)
		}
		return nil
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return faults, ok
}

// TestCheckFindsWhatIsWrong writes what the executor never would; each is found and named, and nothing else.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	const id = "docs/7"
	home := bucketOf(t, id)
	wrong := home ^ 1 // of the same fragment
	hex := fmt.Sprintf("%x", types.AppendKey(nil, types.Text, types.NewText(id), false))
	tests := []struct {
		name string
		harm func(k *checked)
		want []string // a part of each fault
	}{
		{"nothing", func(*checked) {}, nil},
		{"row in the wrong bucket", func(k *checked) {
			tx := k.owner(home, false)
			k.putAt(tx, rowKey(docsID, id, home), nil)
			k.putAt(tx, rowKey(docsID, id, wrong), rowValue(id, document(t, "{}")))
			k.putAt(tx, entryKey(docsID, id), bucketValue(wrong))
		}, []string{fmt.Sprintf("placement|public.docs|postgres$%%d: (id)=(docs/7): it lies in bucket %d, its key belongs in bucket %d", wrong, home)}},
		{"row in the wrong fragment", func(k *checked) {
			tx := k.owner(home, true)
			k.putAt(tx, rowKey(docsID, id, home), rowValue(id, document(t, "{}")))
			k.putAt(tx, entryKey(docsID, id), bucketValue(home))
		}, []string{"placement|public.docs|postgres$%d: key " + hex + " lies in bucket " + fmt.Sprint(home) + ", which the map does not give to this fragment"}},
		{"row under another key", func(k *checked) {
			k.putAt(k.owner(home, false), rowKey(docsID, id, home), rowValue("docs/8", document(t, "{}")))
		}, []string{"placement|public.docs|postgres$%d: (id)=(docs/8): it is stored under another key than its columns give"}},
		{"row outside the block of its content", func(k *checked) {
			k.put(ordersID, "orders/2", bucketOf(t, "orders/2"), document(t, `{"Customer": "c/1"}`))
		}, []string{"placement|public.orders|postgres$%d: (id)=(orders/2): "}},
		{"missing index entry", func(k *checked) {
			k.putAt(k.owner(home, false), entryKey(docsID, id), nil)
		}, []string{"index|public.docs|postgres$%d: (id)=(docs/7) has no entry"}},
		{"dangling index entry", func(k *checked) {
			k.putAt(k.owner(home, false), rowKey(docsID, id, home), nil)
		}, []string{"index|public.docs|postgres$%d: the entry under key " + hex + fmt.Sprintf(" names a row in bucket %d that is not there", home)}},
		{"index entry with the wrong bucket", func(k *checked) {
			k.putAt(k.owner(home, false), entryKey(docsID, id), bucketValue(wrong))
		}, []string{
			fmt.Sprintf("index|public.docs|postgres$%%d: the entry of (id)=(docs/7) names bucket %d, the row lies in bucket %d", wrong, home),
			"index|public.docs|postgres$%d: the entry under key " + hex + fmt.Sprintf(" names a row in bucket %d that is not there", wrong),
		}},
		{"damaged document", func(k *checked) {
			doc := []byte(document(t, `{"a": "some text"}`))
			doc[0] ^= 0x55
			k.putAt(k.owner(home, false), rowKey(docsID, id, home), rowValue(id, string(doc)))
		}, []string{"rows|public.docs|postgres$%d: key " + hex + `: column "doc": `}},
		{"damaged row", func(k *checked) {
			k.putAt(k.owner(home, false), rowKey(docsID, id, home), []byte{99, 1, 0, 0, 0})
		}, []string{"rows|public.docs|postgres$%d: key " + hex + ": row format 99 is not known to this version"}},
		{"null where none may be", func(k *checked) {
			k.putAt(k.owner(home, false), rowKey(docsID, id, home), types.AppendRow(nil, []types.Datum{types.NewText(id), types.Null}))
		}, []string{"rows|public.docs|postgres$%d: key " + hex + `: column "doc" is null`}},
		{"rows of no table", func(k *checked) {
			k.putAt(k.owner(home, false), rowKey(20020, id, home), []byte("v"))
		}, []string{"storage|postgres$%d|1 keys of storage id 20020, which no table has"}},
		{"entry of no index", func(k *checked) {
			k.putAt(k.owner(home, false), append(keyspace.IndexPrefix(docsID, 9), 'x'), []byte("v"))
		}, []string{fmt.Sprintf("index|public.docs|postgres$%%d: key %x belongs to index 9, which the table does not have", append(keyspace.IndexPrefix(docsID, 9), 'x'))}},
	}
	if testing.Short() { // with the race detector: the others differ in what is wrong, not in who reads it
		tests = tests[:3]
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			k := openChecked(t)
			k.write(func() { x.harm(k) })
			got, ok := k.faults()
			if ok == 0 {
				t.Error("nothing is well")
			}
			if len(got) != len(x.want) {
				t.Fatalf("got %q\nwant %q", got, x.want)
			}
			for i, want := range x.want {
				if !slices.ContainsFunc([]int{0, 1, 2}, func(n int) bool { return strings.Contains(got[i], strings.Replace(want, "%d", fmt.Sprint(n), 1)) }) {
					t.Errorf("got  %q\nwant %q", got[i], want)
				}
			}
			// The same is found in what a process would leave that is killed now.
			stopped, _ := checkStopped(t, k.left())
			for i := range stopped {
				stopped[i] = strings.Replace(stopped[i], "|postgres.public.", "|public.", 1)
			}
			slices.Sort(got)
			slices.Sort(stopped)
			if !slices.Equal(got, stopped) {
				t.Errorf("stopped:  %q\nrunning: %q", stopped, got)
			}
		})
	}
}

// TestCheckManyFaults names some of many faults and counts the rest.
func TestCheckManyFaults(t *testing.T) {
	k := openChecked(t)
	k.write(func() {
		for i := range 100 {
			id := fmt.Sprintf("docs/%d", i)
			k.putAt(k.owner(bucketOf(t, id), false), entryKey(docsID, id), nil)
		}
	})
	got, _ := k.faults()
	if len(got) != 11 || got[10] != "index|public.docs|and 90 more" {
		t.Errorf("%d faults, the last %q", len(got), got[len(got)-1])
	}
}

// TestCheckStatistics holds the rows of a fragment against statistics that are not theirs.
func TestCheckStatistics(t *testing.T) {
	k := openChecked(t)
	view := k.catalog.View()
	d := view.Database(catalog.PostgresDB)
	c, err := verify.New(view, d)
	if err != nil {
		t.Fatal(err)
	}
	r, err := k.host.Replicas.Replica(d.Fragments[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	census := r.Inspect.Census()
	v, err := r.Tx(txn.NewID()).View(t.Context(), census.At)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var first verify.Stat
	err = c.Fragment(t.Context(), &verify.Fragment{
		ID: r.ID(), View: v, Group: counts.GroupBuckets, Exact: counts.ExactBytes,
		Stats: func(ctx context.Context) ([]verify.Stat, error) {
			stats, err := statsOf(ctx, census)
			first = stats[0]
			stats[0].Documents++
			stats = append(stats, verify.Stat{Table: first.Table, From: first.From, To: first.From + 1, Documents: 700})
			return append(stats, verify.Stat{Table: docsID + 5, To: counts.GroupBuckets, Documents: 3}), err
		},
		Recount: func(ctx context.Context, s verify.Stat) (int64, int64, error) { return recount(ctx, r, census.At, s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := c.Report(func(check, subject string, ok bool, detail string) error {
		if !ok {
			got = append(got, check+"|"+subject+"|"+detail)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	documents, bytes, err := recount(t.Context(), r, census.At, verify.Stat{Table: first.Table, From: first.From, To: first.From + 1})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		fmt.Sprintf("statistics|public.docs|postgres$0: buckets [%d,%d) have %d documents of %d bytes, the statistics say %d of %d",
			first.From, first.To, first.Documents, first.Bytes, first.Documents+1, first.Bytes),
		fmt.Sprintf("statistics|public.docs|postgres$0: buckets %d have %d documents of %d bytes, the statistics say 700 of 0", first.From, documents, bytes),
		fmt.Sprintf("statistics|storage id %d|postgres$0: buckets [0,256) have 0 documents of 0 bytes, the statistics say 3 of 0", docsID+5),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestCheckUndecided leaves a prepared transaction behind: its fragment is not well, the other one is checked.
func TestCheckUndecided(t *testing.T) {
	k := openChecked(t)
	if faults, _ := k.faults(); faults != nil { // waits until the rows' own transactions are resolved, which is after their answers
		t.Fatal(faults)
	}
	k.x = teststore.Begin(k.host.Client)
	tx := k.owner(bucketOf(t, "docs/x"), false)
	k.put(docsID, "docs/x", bucketOf(t, "docs/x"), document(t, "{}"))
	p := teststore.Preparing{Clock: k.clock, PrepareRequest: txn.PrepareRequest{Coordinator: tx.Fragment(), Writers: []txn.FragmentID{tx.Fragment()}}}
	if err := p.Prepare(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := k.checker.check(t.Context(), catalog.PostgresDB, 10*time.Millisecond, func(check, _ string, ok bool, detail string) error {
		if !ok {
			got = append(got, check+"|"+detail)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !strings.HasPrefix(got[0], "transactions|transaction "+k.x.ID().String()+", prepared at ") {
		t.Errorf("got %q", got)
	}
	d := txn.Decision{ID: k.x.ID(), C: p.C, Outcome: txn.Committed, Writers: p.Writers}
	if out, err := tx.Decide(t.Context(), d); out != txn.Committed {
		t.Fatal(out, err)
	}
	if faults, _ := k.faults(); faults != nil {
		t.Errorf("after the decision: %q", faults)
	}
}

// TestCheckWhileWriting checks again and again while rows come and go: every check sees one moment.
func TestCheckWhileWriting(t *testing.T) {
	k := openChecked(t)
	done := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := k.churn(i); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 20 {
		if faults, _ := k.faults(); faults != nil {
			t.Fatalf("%q", faults)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// churn writes or deletes a few rows of both fragments in one transaction.
func (k *checked) churn(n int) error {
	x := teststore.Begin(k.host.Client)
	defer x.Rollback()
	d := k.catalog.View().Database(catalog.PostgresDB)
	for i := range 6 {
		id := fmt.Sprintf("churn/%d", (n*6+i)%60)
		b, err := shardmap.BucketOf(id)
		if err != nil {
			return err
		}
		p, err := x.Part(d.Map.Lookup(b))
		if err != nil {
			return err
		}
		key, entry := rowKey(docsID, id, uint32(b)), entryKey(docsID, id)
		if _, err := teststore.Tx(p).Lock(k.t.Context(), key, txn.LockRequest{Mode: txn.Update, T: txn.MaxTimestamp}); err != nil {
			return err
		}
		if old, err := teststore.Tx(p).Newest(k.t.Context(), key); err != nil {
			return err
		} else if old != nil && n%3 == 0 {
			err = teststore.Tx(p).Delete(key)
			if err == nil {
				err = teststore.Tx(p).Delete(entry)
			}
			if err != nil {
				return err
			}
			continue
		}
		doc, err := jsonb.Parse(fmt.Sprintf(`{"n": %d, "pad": %q}`, n, strings.Repeat("x", n%50)))
		if err == nil {
			err = teststore.Tx(p).Put(key, rowValue(id, string(doc)))
		}
		if err == nil {
			err = teststore.Tx(p).Put(entry, bucketValue(uint32(b)))
		}
		if err != nil {
			return err
		}
	}
	_, err := x.Commit(k.t.Context(), 0)
	return err
}

// TestCheckOfDroppedTable finds nothing wrong while a dropped table's rows are being deleted.
func TestCheckOfDroppedTable(t *testing.T) {
	k := openChecked(t)
	job, err := k.catalog.NewJobID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.catalog.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
		ch.DropTable(docsID)
		return ch.PutJob(catalog.NewDropStorageJob(job, catalog.PostgresDB, docsID, 1))
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if faults, _ := k.faults(); faults != nil {
			t.Fatalf("%q", faults)
		}
	}
}
