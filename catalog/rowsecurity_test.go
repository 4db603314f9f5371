package catalog

import (
	"reflect"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// rowSecurityOps are those of laterOps with row policies.
func rowSecurityOps() []op {
	ops := laterOps()
	t := ops[0].desc.(*Table)
	t.RowSecurity = &RowSecurity{Enabled: true, Forced: true, Policies: []RowPolicy{
		{OID: 16510, Name: "own", Command: '*', Roles: []OID{0}, Using: "SELECT a", Check: "SELECT b",
			Uses: []Use{{Relation: 16400, Columns: []int16{1, 2}}, {Constraint: 16401}}, Comment: "c"},
		{OID: 16511, Name: "some", Command: 'd', Restrictive: true, Roles: []OID{10, 16384}, Using: "SELECT c"},
	}}
	return ops
}

// TestRowSecurityFormat: row policies are kept.
func TestRowSecurityFormat(t *testing.T) {
	data, err := encodeBatch(rowSecurityOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "row-security.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, rowSecurityOps()) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

// TestRowPolicies checks that a policy keeps its roles and the relations that it uses, that its table has
// it by name and by OID, and that policies which are not valid are refused.
func TestRowPolicies(t *testing.T) {
	c := openBootstrapped(t)
	oid := func() OID { return must[OID](t)(c.NewOID(t.Context())) }
	db := c.View().DatabaseByName("postgres")
	schema := c.View().SchemaByName(db.OID, "public")
	table := func(name string) *Table {
		return &Table{OID: oid(), StorageID: oid(), Database: db.OID, Schema: schema.OID, Name: name, Owner: db.Owner,
			Kind: KindTable, Columns: []Column{{AttNum: 1, Name: "a", Type: 25, Typmod: -1}}, NextAttNum: 2}
	}
	role := &Role{OID: oid(), Name: "r"}
	own, used := table("own"), table("used")
	own.RowSecurity = &RowSecurity{Enabled: true, Policies: []RowPolicy{{
		OID: oid(), Name: "x", Command: '*', Roles: []OID{role.OID}, Using: "SELECT true",
		Uses: []Use{{Relation: used.OID, Columns: []int16{1}}},
	}}}
	update := func(change func(ch *Change) error) error {
		_, err := c.Update(t.Context(), func(_ *View, ch *Change) error { return change(ch) })
		return err
	}
	put := func(list ...*Table) func(ch *Change) error {
		return func(ch *Change) error {
			for _, x := range list {
				if err := ch.PutTable(x); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := update(put(own, used)); !pgerr.Is(err, pgerr.UndefinedObject) {
		t.Errorf("a policy for a role that is not there: %v", err)
	}
	if err := update(func(ch *Change) error { return ch.PutRole(role) }); err != nil {
		t.Fatal(err)
	}
	if err := update(put(own)); !pgerr.Is(err, pgerr.UndefinedTable) {
		t.Errorf("a policy that uses a table that is not there: %v", err)
	}
	if err := update(put(own, used)); err != nil {
		t.Fatal(err)
	}
	got := c.View().Table(own.OID)
	if x := got.RowPolicy("x"); x == nil || got.RowPolicy("y") != nil || c.View().TableOfPart(x.OID) != got {
		t.Errorf("%+v", got.RowSecurity)
	}
	if by := TablesGuardedBy(c.View(), used.OID); len(by) != 1 || by[0] != got {
		t.Errorf("%v", by)
	}
	for what, change := range map[string]func(ch *Change) error{
		"the role":   func(ch *Change) error { ch.DropRole(role.OID); return nil },
		"the table":  func(ch *Change) error { ch.DropTable(used.OID); return nil },
		"the column": func(ch *Change) error { x := used.Clone(); x.Columns[0].Dropped = true; return ch.PutTable(x) },
	} {
		if err := update(change); !pgerr.Is(err, pgerr.DependentObjectsStillExist) {
			t.Errorf("%s of a policy was dropped: %v", what, err)
		}
	}
	for name, change := range map[string]func(x *RowPolicy){
		"command": func(x *RowPolicy) { x.Command = 'x' },
		"no role": func(x *RowPolicy) { x.Roles = nil },
		"name":    func(x *RowPolicy) { x.Name = "" },
		"OID":     func(x *RowPolicy) { x.OID = 0 },
	} {
		bad := got.Clone()
		change(&bad.RowSecurity.Policies[0])
		if err := update(put(bad)); err == nil {
			t.Errorf("%s: a policy was put that is not valid", name)
		}
	}
}
