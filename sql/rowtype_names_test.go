package sql_test

import "testing"

// TestRowTypeNames: a table's row type and its array type have names and OIDs that lead to each
// other. The OIDs are below 2^31, because some clients read an OID as a signed number. Columns and
// elements of these types are refused as unsupported, not as unknown.
func TestRowTypeNames(t *testing.T) {
	c := newWorldOf(t, 1).connect(t)
	c.want("CREATE TABLE customers (id int PRIMARY KEY, b text)", "CREATE TABLE")
	c.want("SELECT r.typname, r.typrelid::regclass, r.oid::regtype, a.typname, a.oid::regtype, a.typelem = r.oid, "+
		"r.typarray = a.oid, "+
		"greatest(a.oid, r.oid)::int8 < 2147483648, 'customers'::regtype = r.oid, 'customers[]'::regtype = a.oid, "+
		"'_customers'::regtype = a.oid "+
		"FROM pg_class k JOIN pg_type r ON r.oid = k.reltype JOIN pg_type a ON a.oid = r.typarray "+
		"WHERE k.relname = 'customers'",
		"customers|customers|customers|_customers|customers[]|t|t|t|t|t|t\nSELECT 1")
	c.want("SELECT ROW(1, 'x')::customers, NULL::customers", "(1,x)|null\nSELECT 1")
	const refused = "columns and arrays of the row type of a table are not supported (SQLSTATE 0A000)"
	for _, text := range []string{
		"SELECT NULL::customers[]", "SELECT '{}'::_customers", "SELECT '{}'::public.customers[]",
		"CREATE TABLE c (a customers)", "CREATE TABLE c (a customers[])",
		"ALTER TABLE customers ALTER b TYPE customers",
	} {
		c.want(text, refused)
	}
	c.want("SELECT NULL::nosuch[]", `type "nosuch[]" does not exist (SQLSTATE 42704)`)
	c.want("SELECT 4294967295::oid, '3000000000'::oid, 3000000000::oid::regclass, 3000000000::oid > 5::oid",
		"4294967295|3000000000|3000000000|t\nSELECT 1")
}
