package refint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/types"
)

// key returns a foreign key of the table s."Child" to p, over columns of the given types.
func key(match catalog.Match, child, parent []types.OID) *refint.Key {
	k := &refint.Key{
		Con: &catalog.Constraint{Name: "k",
			Reference: &catalog.Reference{Match: match, OnDelete: catalog.SetNull, OnUpdate: catalog.Cascade}},
		ChildSchema: "s", ParentSchema: "public", Child: &catalog.Table{OID: 2, Name: "Child"},
		Parent: &catalog.Table{OID: 1, Name: "p"},
	}
	for i := range child {
		k.Columns = append(k.Columns, &catalog.Column{AttNum: int16(i + 1), Name: fmt.Sprintf("f%d", i),
			Type: child[i]})
		k.Referenced = append(k.Referenced, &catalog.Column{AttNum: int16(i + 5), Name: fmt.Sprintf(`K"%d`, i),
			Type: parent[i]})
	}
	return k
}

func TestStatements(t *testing.T) {
	one := key(catalog.MatchSimple, []types.OID{types.Int4}, []types.OID{types.Int8})
	two := key(catalog.MatchFull, []types.OID{types.Text, types.Int4}, []types.OID{types.VarChar, types.Int4})
	for _, c := range []struct{ got, want string }{
		{one.LookOne().Text, `SELECT 1 FROM public.p x WHERE x."K""0" = $1 FOR KEY SHARE OF x`},
		{one.LookOne().Shown,
			`SELECT 1 FROM ONLY "public"."p" x WHERE "K""0" OPERATOR(pg_catalog.=) $1 FOR KEY SHARE OF x`},
		{one.Look().Text, `SELECT x."K""0" FROM public.p x WHERE x."K""0" = ANY ($1) FOR KEY SHARE OF x`},
		{one.Referring().Text, `SELECT DISTINCT x.f0 FROM s."Child" x WHERE x.f0 = ANY ($1)`},
		{one.ReferringOne().Text, `SELECT 1 FROM s."Child" x WHERE x.f0 = $1 LIMIT 1 FOR KEY SHARE OF x`},
		{one.ReferringOne().Shown,
			`SELECT 1 FROM ONLY "s"."Child" x WHERE $1 OPERATOR(pg_catalog.=) "f0" FOR KEY SHARE OF x`},
		{one.Delete(true).Text, `DELETE FROM s."Child" x WHERE x.f0 = ANY ($1)`},
		{two.Delete(false).Text, `DELETE FROM s."Child" x WHERE x.f0 = $1 AND x.f1 = $2`},
		{two.Set("NULL", []int16{2}, false).Text, `UPDATE s."Child" x SET f1 = NULL WHERE x.f0 = $1 AND x.f1 = $2`},
		{two.Set("DEFAULT", nil, false).Shown,
			`UPDATE ONLY "s"."Child" SET "f0" = DEFAULT, "f1" = DEFAULT WHERE $1 OPERATOR(pg_catalog.=) "f0" AND $2 ` +
				`OPERATOR(pg_catalog.=) "f1"`},
		{two.Move().Text, `UPDATE s."Child" x SET f0 = $3, f1 = $4 WHERE x.f0 = $1 AND x.f1 = $2`},
		{one.Move().Shown, `UPDATE ONLY "s"."Child" SET "f0" = $1 WHERE $2 OPERATOR(pg_catalog.=) "f0"`},
		{one.MoveAll().Text, `UPDATE s."Child" x SET f0 = m.c1 FROM unnest($1, $2) AS m(c0, c1) WHERE x.f0 = m.c0`},
		{one.Orphans(1), `SELECT c.f0 FROM s."Child" c LEFT JOIN public.p p ON p."K""0" = c.f0 WHERE p."K""0" IS ` +
			`NULL AND (c.f0 IS NOT NULL) ORDER BY 1 LIMIT 1`},
		{two.Count(), `SELECT count(*) FROM s."Child" c WHERE (c.f0 IS NOT NULL OR c.f1 IS NOT NULL)`},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
	if look := two.Look(); len(look.Params) != 2*refint.Tuples || strings.Count(look.Text, " OR ") != refint.Tuples-1 {
		t.Errorf("%d parameters in %s", len(look.Params), look.Text)
	}
}

func TestBatch(t *testing.T) {
	for _, c := range []struct {
		child, parent []types.OID
		index         catalog.OID
		want          int
	}{
		{[]types.OID{types.Int4}, []types.OID{types.Int8}, 0, 0},
		{[]types.OID{types.Text}, []types.OID{types.VarChar}, 7, 0},
		{[]types.OID{types.Int4}, []types.OID{types.Numeric}, 0, 1}, // their encoded forms differ
		{[]types.OID{types.Int4, types.Text}, []types.OID{types.Int4, types.Text}, 0, refint.Tuples},
		{[]types.OID{types.Int4, types.Text}, []types.OID{types.Int4, types.Text}, 7, refint.Tuples},
	} {
		k := key(catalog.MatchSimple, c.child, c.parent)
		k.Con.Reference.Index = c.index
		if got := k.Batch(); got != c.want {
			t.Errorf("%v to %v: %d, want %d", c.child, c.parent, got, c.want)
		}
	}
}

func TestViolations(t *testing.T) {
	k := key(catalog.MatchFull, []types.OID{types.Text, types.Int4}, []types.OID{types.Text, types.Int4})
	values := []types.Datum{types.NewText("a, b"), types.NewInt(7)}
	for _, c := range []struct {
		err             *pgerr.Error
		message, detail string
	}{
		{k.Missing(values, &types.Env{}), `insert or update on table "Child" violates foreign key constraint "k"`,
			`Key (f0, f1)=(a, b, 7) is not present in table "p".`},
		{k.Referred(values, &types.Env{}),
			`update or delete on table "p" violates foreign key constraint "k" on table "Child"`,
			`Key (K"0, K"1)=(a, b, 7) is still referenced from table "Child".`},
		{k.Broken([]types.Datum{types.Null, types.NewInt(1)}, &types.Env{}),
			`insert or update on table "Child" violates foreign key constraint "k"`,
			"MATCH FULL does not allow mixing of null and nonnull key values."},
	} {
		if c.err.Code != pgerr.ForeignKeyViolation || c.err.Message != c.message || c.err.Detail != c.detail ||
			c.err.Schema != "s" || c.err.Table != "Child" || c.err.Constraint != "k" {
			t.Errorf("%+v", c.err)
		}
	}
}
