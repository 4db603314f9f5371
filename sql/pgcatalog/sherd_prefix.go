package pgcatalog

// prefixViews are the views about prefix rules, OIDs from 9180.
var prefixViews = []*Relation{
	view(9180, "prefixes",
		"prefix rules of this database: ids with the prefix lie in buckets [first_bucket, end_bucket), which are "+
			"only in some fragments",
		col("prefix", textOID), col("first_bucket", int4OID), col("end_bucket", int4OID), col("fragments", textArray),
		col("elsewhere", int4OID), col("documents", int8OID), col("bytes", int8OID)),
}
