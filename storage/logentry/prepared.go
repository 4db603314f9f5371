package logentry

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
)

// Preparation is the record of a prepared transaction (PREPARE TRANSACTION), the same in each of
// its fragments except for Complete and Reads. It is in a PrepareTransaction, and by itself under a
// key of the replica.
type Preparation struct {
	Request  txn.PreparationRequest
	Home     txn.FragmentID   // the fragment that knows whether it stands
	Writers  []txn.FragmentID // all, the home included; ascending
	Complete bool             // at the home: it stands
	// what a SERIALIZABLE transaction has read in this fragment, in order and apart
	Reads []txn.Span
}

// The formats of a Preparation. Without reads it is written as it was before there were any (V4).
const (
	preparationFormat      = 1
	preparationFormatReads = 2
)

// Append appends the encoded record.
func (p *Preparation) Append(b []byte) []byte {
	format := byte(preparationFormat)
	if len(p.Reads) > 0 {
		format = preparationFormatReads
	}
	b = append(b, format)
	b = codec.AppendBytes(b, []byte(p.Request.GID))
	b = binary.AppendUvarint(b, uint64(p.Request.Owner))
	b = binary.AppendUvarint(b, uint64(p.Request.Database))
	b = binary.BigEndian.AppendUint64(b, uint64(p.Request.At.UnixMicro())) // since 1970
	b = codec.AppendTimestamp(b, p.Request.Floor)
	b = binary.AppendUvarint(b, uint64(p.Home))
	b = append(b, codec.Bool(p.Complete))
	b = codec.AppendFragments(b, p.Writers)
	if format == preparationFormatReads {
		b = AppendSpans(b, p.Reads)
	}
	return b
}

// DecodePreparation reads a record that is by itself.
func DecodePreparation(b []byte) (*Preparation, error) {
	r := codec.Reader{B: b}
	p := readPreparation(&r)
	return p, r.End()
}

func readPreparation(r *codec.Reader) *Preparation {
	f := r.Byte()
	if r.Err == nil && f != preparationFormat && f != preparationFormatReads {
		r.Err = fmt.Errorf("%w: a prepared transaction of format %d is not known to this release",
			codec.ErrMalformed, f)
	}
	p := &Preparation{}
	p.Request.GID = string(r.Bytes())
	p.Request.Owner, p.Request.Database = uint32(r.Int()), uint32(r.Int())
	p.Request.At = time.UnixMicro(int64(r.Timestamp())).UTC()
	p.Request.Floor = r.Timestamp()
	p.Home = txn.FragmentID(r.Int())
	p.Complete = r.Byte() != 0
	p.Writers = r.Fragments()
	if f == preparationFormatReads {
		p.Reads = readSpans(r)
	}
	return p
}

// PrepareTransaction has the writes and the locks of a prepared transaction. It has no commit
// timestamp yet: COMMIT PREPARED is a Prepare with Again, and a decision.
type PrepareTransaction struct {
	ID          txn.ID
	Preparation *Preparation
	Parts       int // as in Commit
	Stats       []byte
	Writes      []byte
}

func (e *PrepareTransaction) Kind() Kind { return KindPrepareTransaction }

func (e *PrepareTransaction) Encode() []byte { return append(e.head(len(e.Writes)), e.Writes...) }

// EncodeInto is Encode with the operations that room has behind HeadRoom free bytes, in place of
// Writes.
func (e *PrepareTransaction) EncodeInto(room []byte) []byte { return into(e.head(0), room) }

func (e *PrepareTransaction) head(writes int) []byte {
	b := append(begin(KindPrepareTransaction, e.Stats, writes), e.ID[:]...)
	b = e.Preparation.Append(b)
	b = binary.AppendUvarint(b, uint64(e.Parts))
	return codec.AppendBytes(b, e.Stats)
}

func (e *PrepareTransaction) decode(r codec.Reader) error {
	e.ID = r.ID()
	e.Preparation = readPreparation(&r)
	e.Parts = r.Int()
	e.Stats = r.Bytes()
	e.Writes = r.Rest()
	return r.End()
}

// CompletePreparation is the last entry of PREPARE TRANSACTION, at the home: from here on the
// transaction stands.
type CompletePreparation struct{ ID txn.ID }

func (e *CompletePreparation) Kind() Kind { return KindCompletePreparation }

func (e *CompletePreparation) Encode() []byte {
	return append(begin(KindCompletePreparation, nil, 0), e.ID[:]...)
}

func (e *CompletePreparation) decode(r codec.Reader) error {
	e.ID = r.ID()
	return r.End()
}

// CommitPrepared commits a prepared transaction that writes in this fragment alone. Its commit
// timestamp is the entry's stamp.
type CommitPrepared struct{ ID txn.ID }

func (e *CommitPrepared) Kind() Kind { return KindCommitPrepared }

func (e *CommitPrepared) Encode() []byte {
	return append(begin(KindCommitPrepared, nil, 0), e.ID[:]...)
}

func (e *CommitPrepared) decode(r codec.Reader) error {
	e.ID = r.ID()
	return r.End()
}

// DropPrepared drops a prepared transaction. At the home that is ROLLBACK PREPARED; the other
// fragments follow.
type DropPrepared struct {
	ID         txn.ID
	Incomplete bool // only if it does not stand
}

func (e *DropPrepared) Kind() Kind { return KindDropPrepared }

func (e *DropPrepared) Encode() []byte {
	return append(append(begin(KindDropPrepared, nil, 0), e.ID[:]...), codec.Bool(e.Incomplete))
}

func (e *DropPrepared) decode(r codec.Reader) error {
	e.ID = r.ID()
	e.Incomplete = r.Byte() != 0
	return r.End()
}
