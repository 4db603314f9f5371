package sql

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
)

// SetPolicy implements builtin.PolicyInfo. The change commits with the transaction.
func (i info) SetPolicy(table uint32, policy string) error {
	if err := i.mayDefine("sherd.set_policy()", table); err != nil {
		return err
	}
	return ddl.SetPolicy(i.ctx, i.definer(i.keepNotice), table, policy)
}

// ValidatePolicy implements builtin.PolicyInfo.
func (i info) ValidatePolicy(table uint32, emit func(id string, bucket uint32, detail string) error) error {
	if err := i.mayDefine("sherd.validate_policy()", table); err != nil {
		return err
	}
	return ddl.ValidatePolicy(i.ctx, i.definer(i.keepNotice), table, func(m ddl.Misplaced) error {
		return emit(m.ID, uint32(m.Bucket), m.Detail)
	})
}

func (i info) keepNotice(n *pgerr.Error) error {
	i.notice(n)
	return nil
}

// mayDefine refuses a function that changes a table's definition where it cannot.
func (i info) mayDefine(name string, table catalog.OID) error {
	switch {
	case i.ctx == nil:
		return pgerr.Unsupported("%s cannot run here", name)
	case i.tx == nil:
		return nil
	case i.tx.Modes.ReadOnly:
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", name)
	case i.tx.UsesAlready(table):
		return pgerr.New(pgerr.ObjectInUse, "cannot execute %s because the table is being used by active queries in this session", name)
	}
	i.tx.DefineTables(table)
	return nil
}
