package pgcatalog

// prefixProcs are the functions that change prefix rules, OIDs from 8140.
func prefixProcs() []*Proc {
	return []*Proc{
		about(named(fn(8140, "set_prefix", "sherd_set_prefix", 'v', int8OID, textOID, textArray, int4OID, boolOID,
			boolOID, textOID),
			[]string{"prefix", "fragments", "buckets", "rewrite", "wait", "why"}, "0", "false", "false", "''::text"),
			"places ids with a prefix in separate buckets, which are only in these fragments; if the prefix "+
				"has a rule, moves its buckets there; returns the number of moves started"),
		about(named(fn(8141, "drop_prefix", "sherd_drop_prefix", 'v', voidOID, textOID, boolOID, textOID),
			[]string{"prefix", "rewrite", "why"}, "false", "''::text"),
			"drops the rule for a prefix: ids with the prefix are hashed like others"),
	}
}

// prefixViews are the views about prefix rules, OIDs from 9180.
var prefixViews = []*Relation{
	view(9180, "prefixes",
		"prefix rules of this database: ids with the prefix lie in buckets [first_bucket, end_bucket), which are "+
			"only in some fragments",
		col("prefix", textOID), col("first_bucket", int4OID), col("end_bucket", int4OID), col("fragments", textArray),
		col("elsewhere", int4OID), col("documents", int8OID), col("bytes", int8OID)),
}
