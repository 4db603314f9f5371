package txblock

import (
	"context"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
)

// defaultModes returns the modes of a transaction that does not set its own.
func (b *Block) defaultModes() tx.Modes {
	var m tx.Modes
	m.Level, _ = b.env.Settings.Get("default_transaction_isolation")
	m.ReadOnly = b.env.Settings.On("default_transaction_read_only")
	m.Deferrable = b.env.Settings.On("default_transaction_deferrable")
	return m
}

// Characteristic returns a setting that is a state of the session: a mode of the running
// transaction, or the session's floor.
func (b *Block) Characteristic(key string) (value string, ok bool) {
	m := func() tx.Modes {
		if b.Tx != nil {
			return b.Tx.Modes
		}
		return b.defaultModes()
	}
	switch key {
	case sessionTimestamp:
		return strconv.FormatUint(uint64(b.env.Floor), 10), true
	case "transaction_isolation":
		return m().Level, true
	case "transaction_read_only":
		return settings.OnOff(m().ReadOnly), true
	case "transaction_deferrable":
		return settings.OnOff(m().Deferrable), true
	}
	return "", false
}

// IsCharacteristic reports whether a setting is a mode of transactions.
func IsCharacteristic(name string) bool {
	switch strings.ToLower(name) {
	case "transaction_isolation", "transaction_read_only", "transaction_deferrable":
		return true
	}
	return false
}

// setCharacteristic sets a mode of the running transaction; own is false for any other setting.
// PostgreSQL's check hooks decide what is allowed when.
func (b *Block) setCharacteristic(name string, value *string) (own bool, err error) {
	key := strings.ToLower(name)
	if !IsCharacteristic(key) {
		return false, nil
	}
	if value == nil {
		v, _ := b.env.Settings.Get("default_" + key)
		value = &v
	}
	d, _ := settings.Lookup(key)
	canonical, err := d.Check(*value)
	// Outside of a transaction it holds for the statement that sets it.
	if err != nil || b.Tx == nil {
		return true, err
	}
	switch key {
	case "transaction_isolation":
		return true, b.Tx.SetLevel(canonical)
	case "transaction_read_only":
		return true, b.Tx.SetReadOnly(canonical == "on")
	}
	return true, b.Tx.SetDeferrable(canonical == "on")
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
func (b *Block) setModes(options []*pg_query.Node) error {
	return eachMode(options, func(name, value string) error {
		_, err := b.setCharacteristic(name, &value)
		return err
	})
}

// SetTransaction runs SET TRANSACTION and SET SESSION CHARACTERISTICS.
func (b *Block) SetTransaction(ctx context.Context, n *pg_query.VariableSetStmt, w stmt.ResultWriter) error {
	if n.Name == "SESSION CHARACTERISTICS" {
		return eachMode(n.Args, func(name, value string) error { return b.Assign("default_"+name, &value, false) })
	}
	if err := b.WarnOutside(w, "SET TRANSACTION"); err != nil {
		return err
	}
	if n.Name == "TRANSACTION SNAPSHOT" {
		return b.setSnapshot(ctx, n.Args[0].GetAConst().GetSval().GetSval())
	}
	return b.setModes(n.Args)
}

// Assign changes a setting, or resets it if value is nil. The change lasts for the session if the
// transaction commits or, with local, until the transaction ends. A mode belongs to the
// transaction.
func (b *Block) Assign(name string, value *string, local bool) error {
	if own, err := b.setCharacteristic(name, value); own || err != nil {
		return err
	}
	switch strings.ToLower(name) {
	case sessionTimestamp:
		return b.raiseFloor(value)
	case tx.AsOfSetting:
		if err := b.checkAsOf(value); err != nil {
			return err
		}
	}
	return b.env.Settings.Set(name, value, local, b.Nest())
}
