package storage

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// A stream of the live database (S3): format(1), then frames of length · kind(1) · body. Keys come
// first and the state last, so that a stream cut short installs nothing.
const streamFormat = 1

type frameKind byte

const (
	frameKey frameKind = 1 // meta(1) · user meta(1) · version(8) · expires · key · value
	// id(16) · parts · statistics · operations: an open transaction's writes; no longer written
	frameOpen  frameKind = 2
	frameStat  frameKind = 3 // key · value of a statistics record
	frameState frameKind = 4 // the checkpoint record; the end
)

const maxFrame = 64 << 20

var errStream = errors.New("malformed stream of a fragment")

// frozen is the state at one entry: what the stream contains besides Badger's keys. The keys may
// include versions up to its stamp that later entries write, which do no harm (S1).
type frozen struct {
	stamp     txn.Timestamp
	state     []byte
	stats     map[string][]byte
	deletions []dropJob // that are not finished
	release   func()    // releases the versions that can be read at its watermark
}

// freeze copies the state between two batches. Writes of open transactions become keys, which the
// stream contains, and so do the rows that are being installed. Most of that is done before the
// applying of entries stops.
func (m *machine) freeze() (*frozen, error) {
	m.r.installs.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.r.installs.Wait()
	if err := m.takeOverOpen(); halts(m, err) || err != nil {
		return nil, err // halted: the state names keys that were not written
	}
	deletions, err := m.unfinishedDeletions()
	if err != nil {
		return nil, err
	}
	state, _ := m.s.encode() // no log: everything has its keys
	f := &frozen{
		stamp: m.s.stamp, state: state, stats: map[string][]byte{}, deletions: deletions, release: m.r.keepVersions(),
	}
	m.r.stats.All(func(k, v []byte) { f.stats[string(k)] = v })
	return f, nil
}

// takeOverOpen makes keys of what open transactions write. Called with mu held.
func (m *machine) takeOverOpen() error {
	for _, x := range m.s.installing {
		if !x.inDatabase() {
			return proposer.ErrNotLeader // the replica is closing
		}
	}
	for _, o := range m.s.open {
		if len(o.indexes) > 0 {
			if err := m.takeOver(o, m.s.stamp); err != nil {
				return err
			}
		}
	}
	return m.kvs.Flush()
}

// stream returns a reader of the database as it is now, while entries go on being applied, and the
// number of bytes that it will return. Raft wants that number first, so a pass of its own counts
// it; room is added for what resolutions may write meanwhile, and the rest is filled with zeros
// after the state.
func (r *Replica) stream() (rd io.ReadCloser, size int64, err error) {
	f, err := r.machine.freeze()
	if err != nil {
		return nil, 0, err
	}
	c := &counter{}
	if err := r.writeTo(c, f); err != nil {
		f.release()
		return nil, 0, err
	}
	size = c.n + c.n/16 + streamSlack
	pr, pw := io.Pipe()
	go func() {
		defer f.release()
		c := &counter{w: pw, limit: size}
		err := r.writeTo(c, f)
		if err == nil {
			_, err = io.CopyN(c, zeros{}, size-c.n)
		}
		pw.CloseWithError(err)
	}()
	return pr, size, nil
}

// streamTo is stream for a follower that goes on with the log from an index.
func (r *Replica) streamTo(index uint64) (rd io.ReadCloser, size int64, err error) {
	if rd, size, err = r.stream(); err == nil {
		rd = r.kept.Stream(index, rd)
	}
	return rd, size, err
}

const streamSlack = 1 << 20

func (r *Replica) writeTo(c *counter, f *frozen) error {
	w := bufio.NewWriterSize(c, 1<<20)
	if err := r.writeStream(w, f); err != nil {
		return err
	}
	return w.Flush()
}

// counter counts what is written, and passes it on to w if there is one, up to limit.
type counter struct {
	w        io.Writer
	n, limit int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	if c.w == nil {
		return len(p), nil
	}
	if c.n > c.limit {
		return 0, errors.New("the fragment grew while it was streamed")
	}
	return c.w.Write(p)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (r *Replica) writeStream(w *bufio.Writer, f *frozen) error {
	if err := w.WriteByte(streamFormat); err != nil {
		return err
	}
	access, err := r.db.BeginAccess()
	if err != nil {
		return err
	}
	// What comes after the state is in the log, behind the marker. Without it, the stream's length
	// does not depend on how much is written meanwhile.
	t := r.db.At(f.stamp)
	defer t.Close()
	var c *engine.Cursor
	defer access.End(func() { c.Close() })
	for c = t.AllVersions(txn.Span{}, 0); c.Valid(); c.Next() {
		item := c.Item()
		if comesLast(item.Key()) {
			continue
		}
		b := keyFrame(item.Raw())
		if err := item.Stored(func(v []byte) error { b = codec.AppendBytes(b, v); return nil }); err != nil {
			return err
		}
		access.Pause()
		err := writeFrame(w, b)
		if err = cmp.Or(err, access.Resume()); err != nil {
			return err
		}
	}
	access.Pause()
	return writeFrozen(w, f)
}

// keyFrame begins the frame of a version; its value follows.
func keyFrame(x engine.Raw) []byte {
	b := []byte{byte(frameKey), codec.Bool(x.Deleted), x.Mark}
	b = binary.BigEndian.AppendUint64(b, uint64(x.At))
	b = binary.AppendUvarint(b, x.Expires)
	return codec.AppendBytes(b, x.Key)
}

// comesLast reports whether a key is left out of a stream's keys: of records that the stream has
// frozen at its end, and of counts by bucket, which each replica makes for itself.
func comesLast(key []byte) bool {
	if len(key) <= 4 || !keyspace.IsOwn(key) {
		return false
	}
	kind := keyspace.KindOf(key)
	return kind == keyspace.Checkpoint || kind == keyspace.Statistics || kind == keyspace.BucketCounts ||
		kind == keyspace.Deletion
}

// writeFrozen ends a stream. A deletion that goes on while the stream is made may be after some keys
// that the stream had before, and remove its record before the stream comes there: so the records
// are those of the beginning, and the follower deletes the same keys.
func writeFrozen(w *bufio.Writer, f *frozen) error {
	for i := range f.deletions {
		job := &f.deletions[i]
		b := keyFrame(engine.Raw{Key: keyspace.StampRecord(keyspace.Deletion, job.stamp), At: job.stamp})
		if err := writeFrame(w, codec.AppendBytes(b, job.encode())); err != nil {
			return err
		}
	}
	for k, v := range f.stats {
		if err := writeFrame(w,
			codec.AppendBytes(codec.AppendBytes([]byte{byte(frameStat)}, []byte(k)), v)); err != nil {
			return err
		}
	}
	return writeFrame(w, append([]byte{byte(frameState)}, f.state...))
}

func writeFrame(w *bufio.Writer, b []byte) error {
	if _, err := w.Write(binary.AppendUvarint(nil, uint64(len(b)))); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

// restore installs a stream in place of what is here.
func (m *machine) restore(rd io.Reader, covered uint64) error {
	in := bufio.NewReaderSize(rd, 1<<20)
	if b, err := in.ReadByte(); err != nil || b != streamFormat {
		return fmt.Errorf("%w: format %d, %v", errStream, b, err)
	}
	m.r.drops.forget()
	m.r.installs.Abandon()
	if err := m.r.db.Clear(); err != nil { // a follower serves no reads while it restores
		return err
	}
	m.kvs.Later = true
	defer func() { m.kvs.Later = false }()
	got := &restored{open: map[txn.ID]*openFrame{}, stats: counts.New()}
	for got.state == nil {
		b, err := readFrame(in)
		if err != nil {
			return err
		}
		if err := m.restoreFrame(got, b); err != nil {
			return err
		}
	}
	return m.adopt(got, covered)
}

// restored gathers the end of a stream.
type restored struct {
	state *state
	open  map[txn.ID]*openFrame // from a release that had no own keys of pieces
	stats *counts.Sums
}

// openFrame is an open transaction as frameOpen has it.
type openFrame struct {
	parts  int
	stats  []byte
	writes [][]byte
}

func readFrame(in *bufio.Reader) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil || n == 0 || n > maxFrame {
		return nil, fmt.Errorf("%w: frame of %d bytes, %v", errStream, n, err)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(in, b)
	return b, err
}
