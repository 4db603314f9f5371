package sql

import (
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/sysview"
)

// heat lists what is used most in all fragments, rows by their names.
func (s *Session) heat() []sysview.Heat {
	list := s.reports(WantHeat).Heat
	tables := storedTables(s.view())
	for i := range list {
		x := &list[i]
		if x.Key == nil {
			continue
		}
		if t := tables[storedIn{x.Fragment, exec.StorageIDOfKey(x.Key)}]; t != nil {
			x.Collection = t.OID
			x.Text, _ = exec.TextOfKey(t, x.Key, s.Env())
		}
	}
	return list
}
