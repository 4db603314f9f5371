package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftlog"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

const (
	killDirEnv    = "SHERD_KILL_DIR"
	killRoundsEnv = "SHERD_KILL_ROUNDS"
	killWriters   = 16
	killFragments = 3
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDirEnv); dir != "" {
		if err := killChild(dir); err != nil {
			fmt.Println("BAD", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestKillLoop runs a process of three fragments with one log device under 16 writers and kills it
// at random moments, half of them while it recovers. Each start verifies that every acknowledged
// transaction is there, and that none is there in part. SHERD_KILL_ROUNDS=50 is the long form.
func TestKillLoop(t *testing.T) {
	rounds := 4
	if s := os.Getenv(killRoundsEnv); s != "" {
		rounds, _ = strconv.Atoi(s)
	} else if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	seed := time.Now().UnixNano()
	rnd := rand.New(rand.NewSource(seed))
	t.Logf("seed %d", seed)
	for round := range rounds {
		early := round%2 == 1
		if err := killRound(dir, early, rnd); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if err := killVerify(dir); err != nil {
		t.Fatal(err)
	}
}

// killRound starts the child and kills it: early somewhere in its start, else some time after it
// began to write.
func killRound(dir string, early bool, rnd *rand.Rand) error {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), killDirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ready := make(chan error, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		if strings.HasPrefix(line, "BAD") {
			ready <- errors.New(strings.TrimSpace(line))
			return
		}
		ready <- nil
	}()
	if early {
		select {
		case err = <-ready:
		case <-time.After(time.Duration(rnd.Int63n(int64(250 * time.Millisecond)))):
		}
	} else {
		select {
		case err = <-ready:
			time.Sleep(time.Duration(rnd.Int63n(int64(600 * time.Millisecond))))
		case <-time.After(testTimeout):
			err = errors.New("the process does not come up")
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return err
}

// killVerify opens the directory once more in this process.
func killVerify(dir string) error {
	rs, closeAll, err := killOpen(dir)
	if err != nil {
		return err
	}
	defer closeAll()
	return killCheck(dir, rs)
}

func killOpen(dir string) (rs []*Replica, closeAll func(), err error) {
	peers, clock, dead := NewPeers(), txn.NewClock(nil, 0), txn.NewDetector()
	device, err := raftlog.Open(raftlog.Options{Dir: filepath.Join(dir, "log"), Logger: quiet, SegmentSize: 1 << 20})
	if err != nil {
		return nil, nil, err
	}
	closeAll = func() {
		for _, r := range rs {
			r.Close()
		}
		device.Close()
	}
	for i := range killFragments {
		r, err := Open(Config{
			Dir: filepath.Join(dir, fmt.Sprint("f", i)), Fragment: FragmentID(i + 1), Clock: clock, Deadlock: dead,
			Logger: quiet,
			Others: Others{Outcome: peers.AskOutcome, Prepared: peers.AskPrepared, Resolve: peers.SendResolve},
			Disk:   Disk{MemTable: 2 << 20},
			Group:  GroupConfig{LogEntries: 512, Device: device},
		})
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		peers.Add(r)
		rs = append(rs, r)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	for _, r := range rs {
		if err := r.Group.WaitReady(ctx); err != nil {
			closeAll()
			return nil, nil, err
		}
	}
	return rs, closeAll, nil
}

func killKey(writer, n int) []byte {
	return append(keyspace.RowPrefix(20000, uint32(writer*65536+n%1000), 1), fmt.Sprintf("%03d-%08d", writer, n)...)
}

func ackFile(dir string, writer int) string { return filepath.Join(dir, fmt.Sprint("acks-", writer)) }

// killChild verifies what is there, then writes until it is killed.
func killChild(dir string) error {
	rs, _, err := killOpen(dir)
	if err != nil {
		return err
	}
	if err := killCheck(dir, rs); err != nil {
		return err
	}
	fmt.Println("ready")
	co := &txn.Coordinator{Clock: rs[0].cfg.Clock}
	var wg sync.WaitGroup
	errs := make(chan error, killWriters)
	for w := range killWriters {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs <- killWrite(dir, rs, co, w)
		}()
	}
	return <-errs
}

// killWrite commits transactions n, n+1, …: each writes its row into one fragment, or the same row
// into two. An acknowledged number is noted before the next is tried; a write to a file survives
// the process.
func killWrite(dir string, rs []*Replica, co *txn.Coordinator, w int) error {
	f, err := os.OpenFile(ackFile(dir, w), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, last, err := killAcked(dir, w)
	if err != nil {
		return err
	}
	ctx := context.Background()
	pad := strings.Repeat("p", 100+w*50)
	for n := last + 100; ; n++ { // leaves out what the last process had tried
		id := txn.NewID()
		var parts []txn.Participant
		for i := range 1 + n%2 {
			tx := rs[(w+n+i)%killFragments].Tx(id)
			if err := tx.LockNewest(ctx, killKey(w, n)); err != nil {
				return err
			}
			if err := tx.Put(killKey(w, n), []byte(fmt.Sprint(n, pad))); err != nil {
				return err
			}
			parts = append(parts, tx)
		}
		_, err := co.Commit(ctx, id, 0, parts)
		if pgerr.Is(err, pgerr.SerializationFailure) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(f, "%d\n", n); err != nil {
			return err
		}
	}
}

// killAcked reads the acknowledged numbers of writer w.
func killAcked(dir string, w int) (ns []int, last int, err error) {
	b, err := os.ReadFile(ackFile(dir, w))
	if err != nil && !os.IsNotExist(err) {
		return nil, 0, err
	}
	for _, s := range strings.Fields(string(b)) {
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, 0, err
		}
		ns, last = append(ns, n), n
	}
	return ns, last, nil
}

// killCheck reads everything in one snapshot over all fragments.
func killCheck(dir string, rs []*Replica) error {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	T := txn.Timestamp(0)
	for _, r := range rs {
		t, err := r.Snapshot(ctx)
		if err != nil {
			return err
		}
		T = max(T, t)
	}
	found := map[string]int{}
	for _, r := range rs {
		v, err := r.Tx(txn.ID{}).View(ctx, T)
		if err != nil {
			return err
		}
		docs := int64(0)
		err = v.Scan(ctx, keyspace.TableSpan(20000), false, func(k, _ []byte) error {
			found[string(keyspace.PrimaryKeyOf(k))]++
			docs++
			return nil
		})
		v.Close()
		if err != nil {
			return err
		}
		for _, s := range r.Inspect.BucketStats(0) {
			docs -= s.Documents
		}
		if docs != 0 {
			return fmt.Errorf("fragment %d: statistics are off by %d documents", r.ID(), docs)
		}
	}
	for k, copies := range found {
		var w, n int
		if _, err := fmt.Sscanf(k, "%d-%d", &w, &n); err != nil {
			return err
		}
		if copies != 1+n%2 {
			return fmt.Errorf("transaction %s is there %d times: torn", k, copies)
		}
	}
	for w := range killWriters {
		ns, _, err := killAcked(dir, w)
		if err != nil {
			return err
		}
		for _, n := range ns {
			if k := fmt.Sprintf("%03d-%08d", w, n); found[k] == 0 {
				return fmt.Errorf("transaction %s was acknowledged and is gone", k)
			}
		}
	}
	return nil
}
