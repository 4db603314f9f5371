package monitor

import (
	"strconv"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/sysview"
)

// Heat lists what is used most in all fragments, rows by their names.
func (v *Views) Heat() []sysview.Heat {
	list := v.Report(WantHeat).Heat
	tables := table.TablesByStorage(v.Catalog)
	for i := range list {
		x := &list[i]
		if x.Key == nil {
			continue
		}
		if t := tables[table.Storage{Fragment: x.Fragment, ID: table.StorageIDOfKey(x.Key)}]; t != nil {
			x.Collection = t.OID
			x.Text, _ = table.TextOfKey(t, x.Key, v.Values)
			if t.HotOf != 0 {
				v.ofPart(x, t.HotOf)
			}
		}
	}
	return list
}

// ofPart names the document that a part belongs to.
func (v *Views) ofPart(x *sysview.Heat, owner catalog.OID) {
	x.Collection, x.Part = 0, true
	k, err := strconv.ParseInt(x.Text, 10, 64)
	t := v.Catalog.Table(owner)
	if err != nil || t == nil || t.Hot == nil {
		return
	}
	if d := t.Hot.Document(catalog.DocumentOfPart(k)); d != nil {
		x.Collection, x.Text = owner, d.ID
	}
}
