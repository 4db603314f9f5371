package sysview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/types"
)

func permission(kind, name string) error {
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for %s %s", kind, name)
}

func pgSettings(b *builder) error {
	extra := map[string]types.Datum{}
	name, more := place(b.rel, "name"), place(b.rel, "extra_desc")
	for _, row := range staticRows("pg_settings") {
		extra[row[name].S] = row[more]
	}
	list := slices.Clone(settings.All())
	slices.SortFunc(list, func(x, y *settings.Definition) int {
		return cmp.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name))
	})
	for _, d := range list {
		value, source := b.env.Setting(d)
		lo, hi := d.Bounds()
		r := b.row().text("name", d.Name).text("setting", d.Setting(value)).optional("unit", d.Unit).
			text("category", d.Category).
			text("short_desc", d.Description).set("extra_desc", extra[d.Name]).text("context", d.Context).
			text("vartype", d.Type).
			text("source", source).optional("min_val", lo).optional("max_val", hi).text("boot_val", d.Default).
			text("reset_val", b.env.reset(d)).
			bool("pending_restart", false)
		if len(d.Enum) > 0 {
			r.texts("enumvals", d.Enum)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}

func (e *Env) reset(d *settings.Definition) string {
	if e.Reset == nil {
		return d.Default
	}
	return e.Reset(d)
}

// postgresEpoch is the epoch of timestamps.
var postgresEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func pgTimezoneNames(b *builder) error {
	rel := pgcatalog.RelationByName(pgCatalog, "pg_timezone_names")
	name := place(rel, "name")
	at := postgresEpoch.Add(time.Duration(b.env.Types.Now) * time.Microsecond)
	for _, row := range staticRows("pg_timezone_names") {
		loc, err := time.LoadLocation(row[name].S)
		if err != nil {
			continue // missing in this machine's database
		}
		local := at.In(loc)
		abbrev, offset := local.Zone()
		err = b.row().set("name", row[name]).text("abbrev", abbrev).
			set("utc_offset", types.NewInterval(0, 0, int64(offset)*1e6)).
			bool("is_dst", local.IsDST()).send()
		if err != nil {
			return err
		}
	}
	return nil
}
