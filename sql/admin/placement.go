package admin

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/types"
)

// placement has the functions that return where rows lie: the bucket, the fragment, and the address of
// the node that leads it. A key is one text, or the values of the primary key's columns.
var placement = []Function{
	{
		OID: 8001, Signature: "bucket(regclass, text) RETURNS int4", Source: "sherd_bucket_of", Stable: true,
		Call: ofRow(bucketOfRow),
	},
	{OID: 8002, Signature: "route(regclass, text) RETURNS text", Stable: true, Call: ofRow(addressOfRow)},
	{
		OID: 8013, Signature: "bucket(regclass, text, VARIADIC text[]) RETURNS int4", Source: "sherd_bucket_of_texts",
		Stable: true, Call: ofTexts(bucketOfRow),
	},
	{
		OID: 8014, Signature: `bucket(regclass, VARIADIC "any") RETURNS int4`, Source: "sherd_bucket_of_key",
		Stable: true, Call: ofRow(bucketOfRow),
	},
	{
		OID: 8015, Signature: "route(regclass, text, VARIADIC text[]) RETURNS text", Source: "sherd_route_texts",
		Stable: true, Call: ofTexts(addressOfRow),
	},
	{
		OID: 8016, Signature: `route(regclass, VARIADIC "any") RETURNS text`, Source: "sherd_route_key",
		Stable: true, Call: ofRow(addressOfRow),
	},
	{
		OID: 8017, Signature: "fragment(regclass, text, VARIADIC text[]) RETURNS text",
		Source: "sherd_fragment_texts", Stable: true, Call: ofTexts(fragmentOfRow),
	},
	{
		OID: 8018, Signature: `fragment(regclass, VARIADIC "any") RETURNS text`, Source: "sherd_fragment_key",
		Stable: true, Call: ofRow(fragmentOfRow),
	},
	{OID: 8007, Signature: "fragment(regclass, text) RETURNS text", Stable: true, Call: ofRow(fragmentOfRow)},
	{OID: 8006, Signature: "version() RETURNS text", Stable: true, Call: version},
}

func version(*Environment, []types.Datum) (types.Datum, error) {
	return types.NewText(settings.Version), nil
}

// rowFunc returns something about a bucket, in which a row lies.
type rowFunc func(e *Environment, d *catalog.Database, b shardmap.Bucket) types.Datum

func ofRow(f rowFunc) Call {
	return func(e *Environment, args []types.Datum) (types.Datum, error) { return placeRow(e, args, e.Variadic, f) }
}

// ofTexts is ofRow of a function whose last argument is an array.
func ofTexts(f rowFunc) Call {
	return func(e *Environment, args []types.Datum) (types.Datum, error) { return placeRow(e, args, true, f) }
}

// placeRow calls f with the bucket of the row with a primary key, which is in the arguments after the
// table. If spread is set, the last argument is an array of values. The result is null if one of them
// is.
func placeRow(e *Environment, args []types.Datum, spread bool, f rowFunc) (types.Datum, error) {
	key, err := rowKey(e, args, spread)
	if err != nil || slices.ContainsFunc(key.Values, types.Datum.IsNull) {
		return types.Null, err
	}
	t, err := ddl.TableOf(e.View(), e.Names.Database.OID, args[0].Oid())
	if err != nil {
		return types.Null, err
	}
	b, err := table.BucketOfKey(t, key, e.Values)
	if err != nil {
		return types.Null, err
	}
	return f(e, e.Names.Database, b), nil
}

func rowKey(e *Environment, args []types.Datum, spread bool) (key table.RowKey, err error) {
	end := len(args)
	if spread {
		end--
	}
	for i := 1; i < end; i++ {
		key.Values, key.Types = append(key.Values, args[i]), append(key.Types, e.ArgTypes[i])
	}
	if !spread {
		return key, nil
	}
	array, err := types.ArrayOf(args[end])
	if err != nil {
		return key, err
	}
	for _, d := range array.Elems() {
		key.Values, key.Types = append(key.Values, d), append(key.Types, array.Elem)
	}
	return key, nil
}

func bucketOfRow(_ *Environment, _ *catalog.Database, b shardmap.Bucket) types.Datum {
	return types.NewInt(int64(b))
}

func fragmentOfRow(_ *Environment, d *catalog.Database, b shardmap.Bucket) types.Datum {
	return types.NewText(d.NameOfFragment(d.Map.Lookup(b)))
}

// addressOfRow returns the address, for clients, of a fragment's first node, which leads it.
func addressOfRow(e *Environment, d *catalog.Database, b shardmap.Bucket) types.Datum {
	f := d.FragmentByID(d.Map.Lookup(b))
	if f != nil && len(f.Nodes) > 0 {
		if n := e.View().Node(f.Nodes[0]); n != nil && n.SQLAddr != "" {
			return types.NewText(n.SQLAddr)
		}
	}
	return types.NewText(e.Address)
}
