package builtin

import (
	"strconv"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// sysTransaction has the functions about the running transaction, and the outcome of others.
var sysTransaction = map[string]Func{
	"pg_export_snapshot": onSession(func(s SessionInfo) (types.Datum, error) {
		id, err := s.ExportSnapshot()
		return types.NewText(id), err
	}),
	"pg_xact_status":    xactStatus,
	"sherd_txn_id":      sessionText(func(s SessionInfo) string { return s.TransactionName() }),
	"sherd_txn_outcome": txnOutcome,
}

// xactStatus returns the status of the running transaction, or of others whose ids this server has
// returned. For unknown ids the result is null, as PostgreSQL returns for old ones.
func xactStatus(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	id, ok, err := s.TransactionID(false)
	if err != nil {
		return types.Null, err
	}
	if ok && uint64(a[0].N) == id {
		return types.NewText("in progress"), nil
	}
	outcome, err := s.TransactionOutcome(strconv.FormatUint(uint64(a[0].N), 10))
	if pgerr.Is(err, pgerr.InvalidParameterValue) { // no transaction has such an id
		return types.Null, nil
	}
	if err != nil || outcome == "unknown" {
		return types.Null, err
	}
	return types.NewText(outcome), nil
}

func txnOutcome(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	outcome, err := s.TransactionOutcome(a[0].S)
	return types.NewText(outcome), err
}

// notify is pg_notify. A null channel is an error; a null payload is empty.
func notify(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	return types.NewText(""), s.Notify(a[0].S, a[1].S)
}

func listeningChannels(c *Ctx, _ []types.Datum, emit func([]types.Datum) error) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	for _, name := range s.ListeningChannels() {
		if err := emit([]types.Datum{types.NewText(name)}); err != nil {
			return err
		}
	}
	return nil
}
