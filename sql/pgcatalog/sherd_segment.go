package pgcatalog

// segmentProcs are the functions that change the segments of range tables, OIDs from 8120.
func segmentProcs() []*Proc {
	return []*Proc{
		about(named(fn(8120, "split_segment", "sherd_split_segment", 'v', voidOID, regclassOID, textOID),
			[]string{"collection", "key"}),
			"splits a segment of a range table at a key, while the table is in use"),
		about(named(fn(8121, "merge_segments", "sherd_merge_segments", 'v', voidOID, regclassOID, textOID),
			[]string{"collection", "key"}),
			"merges two segments of a range table, while it is in use; the key begins the second segment"),
		about(named(fn(8122, "move_segment", "sherd_move_segment", 'v', int8OID, regclassOID, textOID, textOID, boolOID,
			textOID),
			[]string{"collection", "key", "fragment", "wait", "why"}, "false", "''::text"),
			"moves the segment of a range table that contains a key, as move_buckets does"),
		about(named(fn(8123, "halve_segment", "sherd_halve_segment", 'v', voidOID, regclassOID, textOID),
			[]string{"collection", "segment"}),
			"splits a segment of a range table, named as in sherd.segments, at the key that divides its bytes"),
	}
}

// segmentViews are the views about range tables, OIDs from 9170.
var segmentViews = []*Relation{
	view(9170, "segments",
		"segments of this database's range tables: named by their ranges of encoded keys; the keys [lower, "+
			"upper), null if unbounded; recent writes per second of the most written ones; automatic: the balancer "+
			"chose where it begins",
		col("collection", regclassOID), col("segment", textOID), col("lower", textOID), col("upper", textOID),
		col("bucket", int4OID), col("fragment", textOID), col("documents", int8OID), col("bytes", int8OID),
		col("writes", float8OID), col("automatic", boolOID)),
}
