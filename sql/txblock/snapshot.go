package txblock

import (
	"context"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
)

// setSnapshot runs SET TRANSACTION SNAPSHOT: the transaction reads what the exporting transaction
// reads or, with "as of", at a time in the past.
func (b *Block) setSnapshot(ctx context.Context, id string) error {
	t := b.Tx
	if t == nil || t.Modes.Isolation() == txn.ReadCommitted {
		if t == nil && b.defaultModes().Isolation() != txn.ReadCommitted {
			return nil // it would end with the statement
		}
		return pgerr.New(pgerr.FeatureNotSupported,
			"a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ")
	}
	switch {
	case t.Used || t.At != 0:
		return pgerr.New(pgerr.ActiveSQLTransaction, "SET TRANSACTION SNAPSHOT must be called before any query")
	case t.Depth() > 0:
		return pgerr.New(pgerr.ActiveSQLTransaction, "SET TRANSACTION SNAPSHOT must not be called in a subtransaction")
	}
	if len(id) > len("as of ") && strings.EqualFold(id[:len("as of ")], "as of ") {
		return t.ReadPast(strings.TrimSpace(id[len("as of "):]))
	}
	return t.ImportSnapshot(ctx, id)
}

// checkAsOf checks a new value of sherd.as_of.
func (b *Block) checkAsOf(value *string) error {
	if b.Tx != nil && b.Tx.Used {
		return pgerr.New(pgerr.ActiveSQLTransaction, tx.AsOfSetting+" must be set before any query")
	}
	if value == nil || *value == "" {
		return nil
	}
	_, err := b.env.PastTime(*value)
	return err
}

// sessionTimestamp is the setting with the largest timestamp at which this session has read or
// committed. A session that sets this value sees at least what this one has seen.
const sessionTimestamp = "sherd.session_ts"

// raiseFloor sets sherd.session_ts; it only rises.
func (b *Block) raiseFloor(value *string) error {
	if value == nil {
		return nil
	}
	n, err := strconv.ParseUint(*value, 10, 64)
	if err != nil {
		return pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "sherd.session_ts": "%s"`, *value).
			WithHint("It is what SHOW sherd.session_ts gave in another session.")
	}
	if T := txn.Timestamp(n); T > b.env.Floor {
		if T > max(b.env.Clock.Last(), b.env.Clock.Wall())+
			txn.Timestamp(txn.DefaultMaxClockAhead.Milliseconds())<<16 {
			return pgerr.New(pgerr.InvalidParameterValue, "sherd.session_ts is too far in the future")
		}
		b.env.Floor = T
	}
	return nil
}
