package catalog

import (
	"reflect"
	"testing"

	"github.com/sherddb/sherd/catalog/acl"
)

// accessOps put an object of each kind that has an access list, and a role that is a member of another one.
func accessOps(t *testing.T) []op {
	list := acl.List{
		{Grantee: 10, Grantor: 10, Mode: acl.Select | acl.Insert},
		{Grantee: acl.Public, Grantor: 10, Mode: acl.Select},
		{Grantee: 16400, Grantor: 10, Mode: acl.Update | acl.Update.Options()},
	}
	var db *Database
	var table *Table
	for _, o := range fullOps(t) {
		switch d := o.desc.(type) {
		case *Database:
			db = d.Clone()
		case *Table:
			if table == nil {
				table = d.Clone()
			}
		}
	}
	db.ACL, db.ReplicationFactor = list, 5
	db.DefaultACLs = []DefaultACL{{OID: 16530, Role: 10, Schema: 2200, Kind: 'r', ACL: list[1:]}}
	db.LanguageACLs = map[OID]acl.List{14: {}}
	table.ACL, table.Columns[0].ACL = acl.List{}, list[:2]
	objects := []descriptor{
		db, table,
		&Schema{OID: 16384, Database: 5, Name: "s", Owner: 10, ACL: list},
		&Role{OID: 16401, Name: "member", ConnectionLimit: -1, MemberOf: []Membership{{Role: 16400, Grantor: 10, Admin: true}}},
		&Type{OID: 16531, Database: 5, Schema: 16384, Name: "e", Owner: 10, Kind: EnumType, ACL: list},
		&Function{OID: 16532, Database: 5, Schema: 16384, Name: "f", Owner: 10, Kind: 'f', Language: "sql", Result: 23,
			Volatility: 'v', Parallel: 'u', Source: "SELECT 1", ACL: list[:1]},
	}
	var out []op
	for _, d := range objects {
		out = append(out, op{kind: putOp, key: keyOf(d), desc: d})
	}
	return out
}

// TestAccessFormat: access lists and memberships are kept.
func TestAccessFormat(t *testing.T) {
	data, err := encodeBatch(accessOps(t))
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "access.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, accessOps(t)) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}
