package sql

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// setSnapshot is SET TRANSACTION SNAPSHOT: the transaction reads what the exporting one reads, or with "as of" a time of the past.
func (s *Session) setSnapshot(ctx context.Context, id string) error {
	t := s.tx
	if t == nil || t.modes.isolation() == txn.ReadCommitted {
		if t == nil && s.defaultModes().isolation() != txn.ReadCommitted {
			return nil // it would end with the statement
		}
		return pgerr.New(pgerr.FeatureNotSupported, "a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ")
	}
	switch {
	case t.used || t.t != 0:
		return activeTransaction("SET TRANSACTION SNAPSHOT must be called before any query")
	case len(t.savepoints) > 0:
		return activeTransaction("SET TRANSACTION SNAPSHOT must not be called in a subtransaction")
	}
	if len(id) > len("as of ") && strings.EqualFold(id[:len("as of ")], "as of ") {
		return t.goBack(strings.TrimSpace(id[len("as of "):]))
	}
	x, err := s.db.findSnapshot(ctx, id)
	if err != nil {
		return err
	}
	return t.importSnapshot(ctx, x)
}

// readAt makes T the timestamp of all the transaction's reads, and has what is visible there kept.
func (t *transaction) readAt(T txn.Timestamp, hold func([]txn.FragmentID, txn.Timestamp) error) error {
	if err := t.hold(T, hold); err != nil {
		return err
	}
	t.t, t.read, t.used, t.seen, t.partsBy = T, max(t.read, T), true, 0, t.gateway.Map
	return nil
}

// goBack makes the transaction read the past.
func (t *transaction) goBack(text string) error {
	T, err := t.env.pastTime(text)
	if err == nil {
		err = t.readAt(T, t.parts.HoldSoon)
	}
	t.past = err == nil
	return err
}

// goBackAsSet is goBack where sherd.as_of says so.
func (t *transaction) goBackAsSet() error {
	v, _ := t.env.setting(asOfSetting)
	if v == "" || t.t != 0 {
		return nil
	}
	return t.goBack(v)
}

const asOfSetting = "sherd.as_of"

// isReadOnly tells whether the transaction may not write. The past cannot be changed.
func (t *transaction) isReadOnly() bool {
	if t.modes.readOnly || t.past {
		return true
	}
	v, _ := t.env.setting(asOfSetting)
	return v != ""
}

// readOnlyError refuses a statement in a read-only transaction.
func (t *transaction) readOnlyError(statement string) error {
	e := pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", statement)
	if !t.modes.readOnly {
		return e.WithHint("The transaction reads the past, see %s.", asOfSetting)
	}
	return e
}

// checkAsOf looks at a value of sherd.as_of that is to be set.
func (s *Session) checkAsOf(value *string) error {
	if s.tx != nil && s.tx.used {
		return activeTransaction(asOfSetting + " must be set before any query")
	}
	if value == nil || *value == "" {
		return nil
	}
	_, err := s.pastTime(*value)
	return err
}

// pastTime reads a time of the past: '2026-11-21 06:00:00Z', or '-10s' before now. Commits of its last millisecond count.
func (e *environment) pastTime(text string) (txn.Timestamp, error) {
	now := time.Now()
	var at int64
	if strings.HasPrefix(strings.TrimSpace(text), "-") {
		iv, err := types.Input(types.Interval, -1, text, e.values())
		if err != nil {
			return 0, err
		}
		if at, err = types.TimestampAdd(types.TimestampOf(now), iv, e.values().Zone); err != nil {
			return 0, err
		}
	} else {
		d, err := types.Input(types.TimestampTZ, -1, text, e.values())
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
		return 0, pgerr.New(pgerr.SnapshotTooOld, "snapshot too old").WithHint("sherd.gc_ttl says how long old versions are kept.")
	}
	return T + 1<<16 - 1, nil
}

// sessionTimestamp is sherd.session_ts: the largest timestamp that this session has read at or committed at. A session that is given it sees
// at least what this one has seen.
func (s *Session) sessionTimestamp() string { return strconv.FormatUint(uint64(s.floor), 10) }

// raiseFloor sets sherd.session_ts; it only rises.
func (s *Session) raiseFloor(value *string) error {
	if value == nil {
		return nil
	}
	n, err := strconv.ParseUint(*value, 10, 64)
	if err != nil {
		return pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "sherd.session_ts": "%s"`, *value).
			WithHint("It is what SHOW sherd.session_ts gave in another session.")
	}
	if T := txn.Timestamp(n); T > s.floor {
		if T > max(s.db.cfg.Clock.Last(), s.db.cfg.Clock.Wall())+txn.Timestamp(txn.DefaultMaxClockAhead.Milliseconds())<<16 {
			return pgerr.New(pgerr.InvalidParameterValue, "sherd.session_ts is too far in the future")
		}
		s.floor = T
	}
	return nil
}

// systemTime finds a clause of other databases in a text that PostgreSQL's grammar refuses.
var systemTime = regexp.MustCompile(`(?i)\bAS\s+OF\s+SYSTEM\s+TIME\b`)

// explainSyntax tells of the way to read the past where a text asks for it in other words.
func explainSyntax(text string, err error) error {
	if pgerr.Is(err, pgerr.SyntaxError) && systemTime.MatchString(text) {
		return pgerr.Unsupported("AS OF SYSTEM TIME is not supported").
			WithHint("SET LOCAL %s = '-10s' in a transaction, or BEGIN ISOLATION LEVEL REPEATABLE READ and SET TRANSACTION SNAPSHOT 'as of …'.", asOfSetting)
	}
	return err
}
