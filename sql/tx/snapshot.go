package tx

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// readAt makes T the timestamp of all the transaction's reads, and pins it.
func (t *Tx) readAt(T txn.Timestamp, hold func([]txn.FragmentID, txn.Timestamp) error) error {
	if err := t.Pin(T, hold); err != nil {
		return err
	}
	t.At, t.Read, t.Used, t.seen, t.partsBy = T, max(t.Read, T), true, 0, t.Gateway.Map
	return nil
}

// ReadPast makes the transaction read at a time of the past.
func (t *Tx) ReadPast(text string) error {
	T, err := t.env.PastTime(text)
	if err == nil {
		err = t.readAt(T, t.Parts.PinSoon)
	}
	t.Past = err == nil
	return err
}

// ReadPastAsSet is ReadPast if sherd.as_of is set.
func (t *Tx) ReadPastAsSet() error {
	v, _ := t.env.Setting(AsOfSetting)
	if v == "" || t.At != 0 {
		return nil
	}
	return t.ReadPast(v)
}

// AsOfSetting is the parameter by which transactions read at a time of the past.
const AsOfSetting = "sherd.as_of"

// IsReadOnly reports whether the transaction may not write. The past cannot be changed.
func (t *Tx) IsReadOnly() bool {
	if t.Modes.ReadOnly || t.Past {
		return true
	}
	v, _ := t.env.Setting(AsOfSetting)
	return v != ""
}

// ReadOnlyError refuses a statement in a read-only transaction.
func (t *Tx) ReadOnlyError(statement string) error {
	e := pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", statement)
	if !t.Modes.ReadOnly {
		return e.WithHint("The transaction reads the past, see %s.", AsOfSetting)
	}
	return e
}

// PastTime reads a time of the past: '2026-11-21 06:00:00Z', or '-10s' before now. Commits of its
// last millisecond count.
func (e *Environment) PastTime(text string) (txn.Timestamp, error) {
	now := time.Now()
	var at int64
	if strings.HasPrefix(strings.TrimSpace(text), "-") {
		iv, err := types.Input(types.Interval, -1, text, e.Values())
		if err != nil {
			return 0, err
		}
		if at, err = types.TimestampAdd(types.TimestampOf(now), iv, e.Values().Zone); err != nil {
			return 0, err
		}
	} else {
		d, err := types.Input(types.TimestampTZ, -1, text, e.Values())
		if err != nil {
			return 0, err
		}
		at = d.N
	}
	before := time.Duration(types.TimestampOf(now)-at) * time.Microsecond
	if before < 0 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "cannot read as of %s, which is in the future", text)
	}
	T := txn.FromTime(now.Add(-before))
	if T == 0 {
		return 0, pgerr.New(pgerr.SnapshotTooOld, "snapshot too old").
			WithHint("sherd.gc_ttl says how long old versions are kept.")
	}
	return T + 1<<16 - 1, nil
}

// SnapshotReachable returns a timestamp for the reads of a statement in the fragments that can be
// reached, and why the others cannot.
func (t *Tx) SnapshotReachable(
	ctx context.Context, shares []shardmap.Share,
) (txn.Timestamp, map[shardmap.FragmentID]error, error) {
	if err := t.ReadPastAsSet(); err != nil || t.At != 0 || t.Near {
		if err != nil {
			return 0, nil, err
		}
		T, err := t.snapshot(ctx, shares)
		return T, nil, err
	}
	missing := map[shardmap.FragmentID]error{}
	reachable := func(ctx context.Context, shares []shardmap.Share, epoch uint64) (txn.Timestamp, error) {
		T, away, err := t.Parts.SnapshotReachable(ctx, shares, epoch)
		maps.Copy(missing, away)
		return T, err
	}
	T, err := t.currentBy(ctx, shares, reachable)
	return T, missing, err
}

// PartMap is the map by which sherd.fragment means fragments: that of the one snapshot, if there is
// one.
func (t *Tx) PartMap() *shardmap.Map {
	if t.partsBy != nil {
		return t.partsBy
	}
	return t.Gateway.Map
}
