package sql

import (
	"strconv"

	"github.com/sherddb/sherd/catalog"
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
			if t.HotOf != 0 {
				s.ofPart(x, t.HotOf)
			}
		}
	}
	return list
}

// ofPart names the document that a part is of.
func (s *Session) ofPart(x *sysview.Heat, owner catalog.OID) {
	x.Collection, x.Part = 0, true
	k, err := strconv.ParseInt(x.Text, 10, 64)
	t := s.view().Table(owner)
	if err != nil || t == nil || t.Hot == nil {
		return
	}
	if d := t.Hot.Document(catalog.DocumentOfPart(k)); d != nil {
		x.Collection, x.Text = owner, d.ID
	}
}
