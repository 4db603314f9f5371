package proof

import (
	"errors"
	"fmt"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn/locks"
)

// maxOrphans is how many keys without a referenced row are named for one foreign key.
const maxOrphans = 10

// foreignKey reports on one foreign key.
func (p *proof) foreignKey(k *refint.Key) error {
	const what = "foreign key"
	subject := k.ChildSchema + "." + k.Child.Name + " " + k.Con.Name
	for _, table := range []catalog.OID{k.Child.OID, k.Parent.OID} {
		err := p.lock(table, true) // the client's own session may be changing it
		if errors.Is(err, locks.ErrNotAvailable) {
			return p.emit(what, subject, true, "not looked at: the definition of its tables is being changed")
		}
		if err != nil {
			return err
		}
	}
	view := p.t.Newest()
	if k = refint.Current(view, k); k == nil {
		return nil // dropped meanwhile
	}
	if !k.Con.Valid {
		return p.emit(what, subject, true, "not looked at: it is NOT VALID")
	}
	found := 0
	err := p.query(view, k.Orphans(maxOrphans+1), func(row []types.Datum) error {
		if found++; found > maxOrphans {
			return p.emit(what, subject, false, "and more")
		}
		return p.emit(what, subject, false, k.Broken(row, p.x.Values).Detail)
	})
	if err != nil || found > 0 {
		return err
	}
	rows := int64(0)
	err = p.query(view, k.Count(), func(row []types.Datum) error {
		rows = row[0].N
		return nil
	})
	if err != nil {
		return err
	}
	return p.emit(what, subject, true, fmt.Sprintf("%d keys", rows))
}
