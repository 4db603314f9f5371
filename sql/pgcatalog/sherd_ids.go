package pgcatalog

// idViews are the views about former ids of documents, OIDs from 9160.
var idViews = []*Relation{
	view(9160, "forwarding_hits",
		"the last former ids by which documents were found on each node since its start, and the applications",
		col("collection", regclassOID), col("old", textOID), col("new", textOID), col("hits", int8OID),
		col("last_used", timestampTZ), col("application_name", textOID), col("query", textOID)),
	view(9161, "offenders",
		"documents that lie where the policy of their collection does not allow, the first hundred of each job of "+
			"start_validation",
		col("job", int8OID), col("collection", regclassOID), col("id", textOID), col("bucket", int4OID),
		col("detail", textOID)),
}
