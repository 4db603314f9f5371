package pgcatalog

// prefixProcs are the functions that change prefix rules, OIDs from 8140.
func prefixProcs() []*Proc {
	return []*Proc{
		about(named(fn(8140, "set_prefix", "sherd_set_prefix", 'v', int8OID, textOID, textArray, int4OID, boolOID,
			boolOID, textOID),
			[]string{"prefix", "fragments", "buckets", "rewrite", "wait", "why"}, "0", "false", "false", "''::text"),
			"has ids under a prefix lie in buckets of their own, which are in these fragments only; of a prefix "+
				"that has a rule, moves its buckets there; gives the number of moves begun"),
		about(named(fn(8141, "drop_prefix", "sherd_drop_prefix", 'v', voidOID, textOID, boolOID, textOID),
			[]string{"prefix", "rewrite", "why"}, "false", "''::text"),
			"ends the rule for a prefix: ids under it are hashed as others"),
	}
}

// prefixViews are the views about prefix rules, OIDs from 9180.
var prefixViews = []*Relation{
	view(9180, "prefixes",
		"rules for prefixes of this database: ids under one lie in buckets [first_bucket, end_bucket), which are in "+
			"some fragments only",
		col("prefix", textOID), col("first_bucket", int4OID), col("end_bucket", int4OID), col("fragments", textArray),
		col("elsewhere", int4OID),
		col("documents", int8OID), col("bytes", int8OID)),
}
