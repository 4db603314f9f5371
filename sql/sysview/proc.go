package sysview

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// sherdProcs returns the functions of the schema sherd.
func sherdProcs(b *builder) error {
	var list []*pgcatalog.Proc
	pgcatalog.Procs(func(p *pgcatalog.Proc) {
		if p.Namespace == "sherd" {
			list = append(list, p)
		}
	})
	slices.SortFunc(list, func(x, y *pgcatalog.Proc) int { return int(x.OID) - int(y.OID) })
	for _, p := range list {
		r := b.row().oid("oid", p.OID).text("proname", p.Name).oid("pronamespace", pgcatalog.SherdNamespace).
			oid("proowner", catalog.BootstrapRole).oid("prolang", internalLanguage).char("prokind", p.Kind).
			bool("proisstrict", p.Strict).
			bool("proretset", p.RetSet).char("provolatile", p.Volatility).char("proparallel", 'u').
			int("pronargs", int64(len(p.ArgTypes))).
			oid("prorettype", p.RetType).oids("proargtypes", p.ArgTypes).text("prosrc", p.Src).
			set("procost", types.NewFloat4(1))
		if p.RetSet {
			r.set("prorows", types.NewFloat4(1000))
		}
		if p.ArgNames != nil {
			r.texts("proargnames", p.ArgNames)
		}
		if p.AllArgTypes != nil {
			r.oids("proallargtypes", p.AllArgTypes)
			r.set("proargmodes", charArray(p.ArgModes))
		}
		if len(p.Defaults) > 0 {
			r.int("pronargdefaults", int64(len(p.Defaults))).text("proargdefaults", strings.Join(p.Defaults, ", "))
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}
