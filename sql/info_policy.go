package sql

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
)

// SetPolicy implements builtin.PolicyInfo. It commits by itself, like all DDL for now.
func (i info) SetPolicy(table uint32, policy string) error {
	if err := i.definesAlone("sherd.set_policy"); err != nil {
		return err
	}
	return ddl.SetPolicy(i.running, i.definer(i.keepNotice), table, policy)
}

// ValidatePolicy implements builtin.PolicyInfo. It commits by itself, like all DDL for now.
func (i info) ValidatePolicy(table uint32, emit func(id string, bucket uint32, detail string) error) error {
	if err := i.definesAlone("sherd.validate_policy"); err != nil {
		return err
	}
	return ddl.ValidatePolicy(i.running, i.definer(i.keepNotice), table, func(m ddl.Misplaced) error {
		return emit(m.ID, uint32(m.Bucket), m.Detail)
	})
}

// keepNotice keeps a notice until the statement's result is written.
func (i info) keepNotice(n *pgerr.Error) error {
	i.notice(n)
	return nil
}

// definesAlone refuses functions that change definitions inside a transaction block, and while the statement's transaction uses tables:
// it would wait for itself.
func (i info) definesAlone(function string) error {
	if i.tx == nil || !i.tx.explicit && len(i.tx.tables) == 0 {
		return nil
	}
	return pgerr.Unsupported("%s inside a transaction block, or together with tables, is not supported yet", function).
		WithHint("Send SELECT %s(…) alone: it commits by itself.", function)
}

// Check implements builtin.PolicyInfo.
func (i info) Check(func(check, subject string, ok bool, detail string) error) error {
	return pgerr.Unsupported("sherd.check is not supported yet")
}
