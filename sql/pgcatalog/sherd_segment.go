package pgcatalog

// segmentViews are the views about range tables, OIDs from 9170.
var segmentViews = []*Relation{
	view(9170, "segments", "segments of this database's range tables: named by their ranges of encoded keys, and the keys [lower, upper), null where there is no end",
		col("collection", regclassOID), col("segment", textOID), col("lower", textOID), col("upper", textOID), col("bucket", int4OID),
		col("fragment", textOID), col("documents", int8OID), col("bytes", int8OID)),
}
