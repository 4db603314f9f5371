package sysview

import "github.com/sherddb/sherd/catalog"

// indexRows is sherd.indexes.
func indexRows(b *builder) error {
	return b.tables(func(t *catalog.Table) error {
		for i := range t.Indexes {
			x := &t.Indexes[i]
			scope, state := "local", "public"
			if x.Global {
				scope = "global"
			}
			if x.State == catalog.IndexBuilding {
				state = "building"
			}
			err := b.row().oid("index", x.OID).oid("collection", t.OID).text("scope", scope).bool("unique", x.Unique).text("state", state).send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}
