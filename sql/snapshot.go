package sql

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
)

// setSnapshot runs SET TRANSACTION SNAPSHOT: the transaction reads what the exporting transaction
// reads or, with "as of", at a time in the past.
func (s *Session) setSnapshot(ctx context.Context, id string) error {
	t := s.tx
	if t == nil || t.Modes.Isolation() == txn.ReadCommitted {
		if t == nil && s.defaultModes().Isolation() != txn.ReadCommitted {
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
func (s *Session) checkAsOf(value *string) error {
	if s.tx != nil && s.tx.Used {
		return pgerr.New(pgerr.ActiveSQLTransaction, tx.AsOfSetting+" must be set before any query")
	}
	if value == nil || *value == "" {
		return nil
	}
	_, err := s.txEnv.PastTime(*value)
	return err
}

// sessionTimestamp returns sherd.session_ts: the largest timestamp at which this session has read
// or committed. A session that sets this value sees at least what this one has seen.
func (s *Session) sessionTimestamp() string { return strconv.FormatUint(uint64(s.txEnv.Floor), 10) }

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
	if T := txn.Timestamp(n); T > s.txEnv.Floor {
		if T > max(s.db.cfg.Clock.Last(), s.db.cfg.Clock.Wall())+
			txn.Timestamp(txn.DefaultMaxClockAhead.Milliseconds())<<16 {
			return pgerr.New(pgerr.InvalidParameterValue, "sherd.session_ts is too far in the future")
		}
		s.txEnv.Floor = T
	}
	return nil
}

// systemTime finds a clause of other databases in a text that PostgreSQL's grammar refuses.
var systemTime = regexp.MustCompile(`(?i)\bAS\s+OF\s+SYSTEM\s+TIME\b`)

// explainSyntax adds how to read the past to a syntax error, if the text uses another database's
// clause for it.
func explainSyntax(text string, err error) error {
	if pgerr.Is(err, pgerr.SyntaxError) && systemTime.MatchString(text) {
		return pgerr.Unsupported("AS OF SYSTEM TIME is not supported").
			WithHint("SET LOCAL %s = '-10s' in a transaction, or BEGIN ISOLATION LEVEL REPEATABLE READ and "+
				"SET TRANSACTION SNAPSHOT 'as of …'.", tx.AsOfSetting)
	}
	return err
}
