package admin

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/types"
)

// topology has the functions about ranges of the bucket map, and pins.
var topology = []Function{
	{
		OID: 8046, Signature: "split_range(database text, bucket int4) RETURNS void",
		Call: void(func(e *Environment, a []types.Datum) error {
			return onRange(e, "split_range", a, (*catalog.Change).SplitRange)
		}),
		Comment: "splits a range of the bucket map at a bucket, which begins the second range",
	},
	{
		OID: 8047, Signature: "merge_ranges(database text, bucket int4) RETURNS void",
		Call: void(func(e *Environment, a []types.Datum) error {
			return onRange(e, "merge_ranges", a, (*catalog.Change).MergeRanges)
		}),
		Comment: "merges two ranges of the bucket map in one fragment; the bucket begins the second range",
	},
	{
		OID: 8048, Signature: "pin(database text, from_bucket int4, to_bucket int4, fragment text, " +
			"why text DEFAULT ''::text) RETURNS void",
		Call:    void(pin),
		Comment: "keeps the buckets [from_bucket, to_bucket) in the fragment that owns them",
	},
	{
		OID: 8049, Signature: "unpin(database text, from_bucket int4, to_bucket int4, why text DEFAULT ''::text) " +
			"RETURNS void",
		Call:    void(unpin),
		Comment: "removes the pin of the buckets [from_bucket, to_bucket)",
	},
}

func onRange(
	e *Environment, function string, a []types.Datum,
	do func(c *catalog.Change, database catalog.OID, bucket uint32, by catalog.Author) error,
) error {
	b, err := bucketOf(a[1])
	if err != nil {
		return err
	}
	return e.change(function, a[0].S, func(d *catalog.Database, c *catalog.Change) error {
		return do(c, d.OID, uint32(b), e.author(""))
	})
}

func pin(e *Environment, a []types.Datum) error {
	v, err := bucketsOf(a[1], a[2])
	if err != nil {
		return err
	}
	fragment, why := a[3].S, a[4].S
	return e.change("pin", a[0].S, func(d *catalog.Database, c *catalog.Change) error {
		f, err := d.FragmentNamed(fragment)
		if err != nil {
			return err
		}
		return c.Pin(d.OID, v, f.ID, e.author(why))
	})
}

func unpin(e *Environment, a []types.Datum) error {
	v, err := bucketsOf(a[1], a[2])
	if err != nil {
		return err
	}
	return e.change("unpin", a[0].S, func(d *catalog.Database, c *catalog.Change) error {
		return c.Unpin(d.OID, v, e.author(a[3].S))
	})
}
