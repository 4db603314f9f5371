package sql

import (
	"context"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
)

// defaultModes returns the modes of a transaction that does not set its own.
func (s *Session) defaultModes() tx.Modes {
	var m tx.Modes
	m.Level, _ = s.vars.Get("default_transaction_isolation")
	m.ReadOnly, m.Deferrable = s.vars.On("default_transaction_read_only"), s.vars.On("default_transaction_deferrable")
	return m
}

// characteristic returns a setting that is a state of the session: a mode of the running
// transaction, or the session's floor.
func (s *Session) characteristic(key string) (value string, ok bool) {
	m := func() tx.Modes {
		if s.tx != nil {
			return s.tx.Modes
		}
		return s.defaultModes()
	}
	switch key {
	case "sherd.session_ts":
		return s.sessionTimestamp(), true
	case "transaction_isolation":
		return m().Level, true
	case "transaction_read_only":
		return settings.OnOff(m().ReadOnly), true
	case "transaction_deferrable":
		return settings.OnOff(m().Deferrable), true
	}
	return "", false
}

func isCharacteristic(name string) bool {
	switch strings.ToLower(name) {
	case "transaction_isolation", "transaction_read_only", "transaction_deferrable":
		return true
	}
	return false
}

// setCharacteristic sets a mode of the running transaction; own is false for any other setting.
// PostgreSQL's check hooks decide what is allowed when.
func (s *Session) setCharacteristic(name string, value *string) (own bool, err error) {
	key := strings.ToLower(name)
	if !isCharacteristic(key) {
		return false, nil
	}
	if value == nil {
		v, _ := s.vars.Get("default_" + key)
		value = &v
	}
	d, _ := settings.Lookup(key)
	canonical, err := d.Check(*value)
	// Outside of a transaction it holds for the statement that sets it.
	if err != nil || s.tx == nil {
		return true, err
	}
	switch key {
	case "transaction_isolation":
		return true, s.tx.SetLevel(canonical)
	case "transaction_read_only":
		return true, s.tx.SetReadOnly(canonical == "on")
	}
	return true, s.tx.SetDeferrable(canonical == "on")
}

// eachMode reads the list of BEGIN and SET TRANSACTION: ISOLATION LEVEL, READ ONLY, DEFERRABLE.
func eachMode(options []*pg_query.Node, set func(name, value string) error) error {
	for _, o := range options {
		d := o.GetDefElem()
		value := d.GetArg().GetAConst()
		text := value.GetSval().GetSval()
		if d.GetDefname() != "transaction_isolation" {
			text = settings.OnOff(value.GetIval().GetIval() != 0)
		}
		if err := set(d.GetDefname(), text); err != nil {
			return err
		}
	}
	return nil
}

// setModes sets the modes that a statement lists for the running transaction.
func (s *Session) setModes(options []*pg_query.Node) error {
	return eachMode(options, func(name, value string) error {
		_, err := s.setCharacteristic(name, &value)
		return err
	})
}

// setTransaction runs SET TRANSACTION and SET SESSION CHARACTERISTICS.
func (s *Session) setTransaction(ctx context.Context, n *pg_query.VariableSetStmt, w stmt.ResultWriter) error {
	if n.Name == "SESSION CHARACTERISTICS" {
		return eachMode(n.Args, func(name, value string) error { return s.assign("default_"+name, &value, false) })
	}
	if err := s.warnNoBlock(w, "SET TRANSACTION"); err != nil {
		return err
	}
	if n.Name == "TRANSACTION SNAPSHOT" {
		return s.setSnapshot(ctx, n.Args[0].GetAConst().GetSval().GetSval())
	}
	return s.setModes(n.Args)
}

// inBlock reports whether other statements follow in the same transaction, as far as the session
// can know: after BEGIN, and in a query string of several statements.
func (s *Session) inBlock() bool { return s.tx != nil && (s.tx.Explicit || s.tx.Together) }

func (s *Session) warnNoBlock(w stmt.ResultWriter, what string) error {
	if s.inBlock() {
		return nil
	}
	return w.Notice(&pgerr.Error{
		Severity: "WARNING", Code: pgerr.NoActiveSQLTransaction,
		Message: what + " can only be used in transaction blocks",
	})
}
