package wire

import (
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// Flags of a Write.
const (
	writeHit = 1 << iota
	writeBuilding
	writeExclusive
	writeDeferred
)

// AppendWrite appends one write. Writes follow each other without separators.
func AppendWrite(dst []byte, w *exec.Write) []byte {
	flags := byte(0)
	if w.Hit {
		flags |= writeHit
	}
	if w.Building {
		flags |= writeBuilding
	}
	if w.Exclusive {
		flags |= writeExclusive
	}
	if w.Deferred {
		flags |= writeDeferred
	}
	dst = append(dst, byte(w.Kind), flags, byte(w.Mode))
	dst = appendInt(dst, w.Place)
	dst = appendUint(dst, uint64(w.Index))
	dst = appendBlob(dst, w.Key)
	dst = appendBlob(dst, w.Value)
	return appendBlob(dst, w.Row)
}

// DecodeWrites reads all writes in b, which they alias, and appends them to dst.
func DecodeWrites(dst []exec.Write, b []byte) ([]exec.Write, error) {
	r := newReader(b, "writes")
	for r.s != "" {
		w := exec.Write{Kind: exec.WriteKind(r.byte())}
		flags := r.byte()
		w.Hit, w.Building, w.Exclusive = flags&writeHit != 0, flags&writeBuilding != 0, flags&writeExclusive != 0
		w.Deferred = flags&writeDeferred != 0
		w.Mode = txn.LockMode(r.byte())
		w.Place = r.int()
		w.Index = int(r.upTo(1 << 16))
		w.Key, w.Value, w.Row = r.blob(), r.blob(), r.blob()
		if w.Kind > exec.WriteLocked || flags > writeHit|writeBuilding|writeExclusive|writeDeferred ||
			w.Mode > txn.Update {
			r.fail()
		}
		if r.bad {
			break
		}
		dst = append(dst, w)
	}
	return dst, r.end()
}

// Flags of Limits.
const (
	limitExplicitBuckets = 1 << iota
	limitReadOnly
	limitUnvalidated
)

// AppendLimits appends the limits that matter in a fragment. LockWaits and the limits of the
// gateway are left out.
func AppendLimits(dst []byte, l *exec.Limits) []byte {
	flags := byte(0)
	if l.ExplicitBuckets {
		flags |= limitExplicitBuckets
	}
	if l.ReadOnly {
		flags |= limitReadOnly
	}
	if l.Unvalidated {
		flags |= limitUnvalidated
	}
	return appendUint(append(dst, byte(l.Isolation), flags), uint64(l.Since))
}

// DecodeLimits decodes the output of AppendLimits.
func DecodeLimits(b []byte) (exec.Limits, error) {
	r := newReader(b, "limits")
	l := exec.Limits{Isolation: txn.Isolation(r.byte())}
	flags := r.byte()
	l.ExplicitBuckets, l.ReadOnly, l.Unvalidated = flags&limitExplicitBuckets != 0, flags&limitReadOnly != 0,
		flags&limitUnvalidated != 0
	l.Since = txn.Timestamp(r.uint())
	if l.Isolation > txn.Serializable || flags > limitExplicitBuckets|limitReadOnly|limitUnvalidated {
		r.fail()
	}
	return l, r.end()
}
