package running

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/gin"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/storage/keyspace"
)

// TestCheckFindsWrongSecondaryIndexes: an index that is public without its entries, and one with an entry that follows from no row.
func TestCheckFindsWrongSecondaryIndexes(t *testing.T) {
	k := openChecked(t)
	const local, global, building = docsID + 5, docsID + 6, docsID + 7
	_, err := k.catalog.Update(t.Context(), func(v *catalog.View, ch *catalog.Change) error {
		d := v.Table(docsID).Clone()
		d.Indexes = append(d.Indexes,
			catalog.Index{OID: local, Name: "docs_n", StorageID: local, Columns: []int16{0}, Expressions: []string{"(doc ->> 'n'::text)"}, Predicate: "((doc ->> 'n'::text) = '7'::text)"},
			catalog.Index{OID: global, Name: "docs_g", StorageID: global, Columns: []int16{0}, Expressions: []string{"(doc ->> 'n'::text)"}, Unique: true, Global: true},
			catalog.Index{OID: building, Name: "docs_b", StorageID: building, Columns: []int16{2}, State: catalog.IndexBuilding})
		return ch.PutTable(d)
	})
	if err != nil {
		t.Fatal(err)
	}
	home := bucketOf(t, "docs/8")
	k.write(func() { // an entry of a row that the predicate leaves out
		pk := types.AppendKey(nil, types.Text, types.NewText("docs/8"), false)
		key := append(types.AppendKey(keyspace.IndexPrefix(docsID, local), types.Text, types.NewText("8"), false), pk...)
		k.putAt(k.owner(home, false), key, append(append([]byte{2}, bucketValue(home)...), 0, byte(len(pk))))
	})
	faults, _ := k.faults()
	want := []string{
		"index|public.docs_n|postgres$%: (id)=(docs/7) has no entry",
		"index|public.docs_n|postgres$%: the entry key ",
		"index|public.docs_g|the fragments hold 0 entries, 200 follow from the rows",
	}
	if len(faults) != len(want) {
		t.Fatalf("%q", faults)
	}
	for _, w := range want {
		before, after, _ := strings.Cut(w, "%")
		if !slices.ContainsFunc(faults, func(f string) bool {
			return strings.HasPrefix(f, before) && strings.Contains(f, strings.TrimPrefix(after, before))
		}) {
			t.Errorf("%q is not among %q", w, faults)
		}
	}
}

// TestCheckFindsWrongTerms: a GIN index that lacks entries of a row, and has one of a term that is not in
// the row.
func TestCheckFindsWrongTerms(t *testing.T) {
	k := openChecked(t)
	const index = docsID + 5
	_, err := k.catalog.Update(t.Context(), func(v *catalog.View, ch *catalog.Change) error {
		d := v.Table(docsID).Clone()
		d.Indexes = append(d.Indexes, catalog.Index{
			OID: index, Name: "docs_terms", StorageID: index, Method: catalog.GIN, Columns: []int16{2},
			Predicate: "(id = 'docs/7'::text)",
		})
		return ch.PutTable(d)
	})
	if err != nil {
		t.Fatal(err)
	}
	entry := func(term gin.Term) {
		home := bucketOf(t, "docs/7")
		pk := types.AppendKey(nil, types.Text, types.NewText("docs/7"), false)
		key := append(binary.BigEndian.AppendUint64(keyspace.IndexPrefix(docsID, index), uint64(term)), pk...)
		k.write(func() {
			k.putAt(k.owner(home, false), key, append(append([]byte{2}, bucketValue(home)...), 0, byte(len(pk))))
		})
	}
	terms, err := (&gin.Column{Type: types.JSONB, Class: gin.JSONBOps}).Append(nil, types.Datum{K: types.KindJSONB, S: document(t, `{"n": 7}`)})
	if err != nil || len(terms) < 2 {
		t.Fatal(terms, err)
	}
	for _, x := range terms[1:] {
		entry(x)
	}
	expect := func(want ...string) {
		t.Helper()
		faults, _ := k.faults()
		if len(faults) != len(want) {
			t.Fatalf("%q", faults)
		}
		for i, w := range want {
			if !strings.HasPrefix(faults[i], "index|public.docs_terms|") || !strings.HasSuffix(faults[i], w) {
				t.Errorf("%q is not %q", faults[i], w)
			}
		}
	}
	expect("(id)=(docs/7) has no entry")
	entry(terms[0])
	expect()
	entry(12345)
	expect("does not follow from the row it names")
}
