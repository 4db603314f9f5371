package admin

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/verify"
)

const checkColumns = `check text, subject text, ok bool, detail text`

// checks has the functions that verify a database.
var checks = []Function{
	{OID: 8005, Signature: "check() RETURNS TABLE (" + checkColumns + ")", Rows: check},
	{OID: 8008, Signature: "check_index(regclass) RETURNS TABLE (" + checkColumns + ")", Rows: checkIndex},
}

// check verifies the session's database. It takes a timestamp of its own, and sees neither the
// transaction's snapshot nor its uncommitted changes.
func check(e *Environment, _ []types.Datum, emit func([]types.Datum) error) error {
	if err := e.mayCheck("check"); err != nil {
		return err
	}
	rows := checkRows(emit)
	if err := e.Fragments.Check(e.Context, e.Names.Database.OID, rows); err != nil {
		return err
	}
	return e.Prove(e.Context, rows)
}

// checkIndex is check, with the rows about one index. It reads the whole database, because the entries
// follow from the rows.
func checkIndex(e *Environment, a []types.Datum, emit func([]types.Datum) error) error {
	index := a[0].Oid()
	if index == 0 {
		return pgerr.New(pgerr.UndefinedTable, "relation with OID 0 does not exist")
	}
	if err := e.mayCheck("check_index"); err != nil {
		return err
	}
	database := e.Names.Database.OID
	about, err := indexSubject(e.View(), database, index)
	if err != nil {
		return err
	}
	rows := checkRows(emit)
	return e.Fragments.Check(e.Context, database, func(check, subject string, ok bool, detail string) error {
		if check != "index" || subject != about {
			return nil
		}
		return rows(check, subject, ok, detail)
	})
}

func checkRows(emit func([]types.Datum) error) verify.Emit {
	return func(check, subject string, ok bool, detail string) error {
		return emit([]types.Datum{
			types.NewText(check), types.NewText(subject), types.NewBool(ok), types.NewText(detail),
		})
	}
}

// mayCheck returns an error unless the role is a superuser or the owner of the database, because the
// results may show keys of any table.
func (e *Environment) mayCheck(function string) error {
	if e.Context == nil {
		return pgerr.Unsupported("sherd.check() cannot run here")
	}
	view := e.View()
	d := view.Database(e.Names.Database.OID)
	if d == nil {
		return pgerr.New(pgerr.InvalidCatalogName, "database with OID %d does not exist", e.Names.Database.OID)
	}
	if !e.subject().Acts(d.Owner) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function %s", function).
			WithHint("Superusers and the owner of the database may check it.")
	}
	return nil
}

// indexSubject returns how the check names an index: by its name, or by the table's if it is that of the
// primary key.
func indexSubject(view *catalog.View, database, oid catalog.OID) (string, error) {
	t, ix, err := ddl.IndexOf(view, database, oid)
	if err != nil {
		return "", err
	}
	name := ix.Name
	if ix.Primary {
		name = t.Name
	}
	if s := view.Schema(t.Schema); s != nil {
		name = s.Name + "." + name
	}
	return name, nil
}
