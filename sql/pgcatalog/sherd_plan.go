package pgcatalog

// planViews are the views about rebalancing, OIDs from 9140.
var planViews = []*Relation{
	view(9140, "plans", "plans of rebalancing: proposed or running",
		col("plan", int8OID), col("database", textOID), col("state", textOID), col("epoch", int8OID),
		col("made_by", textOID), col("why", textOID), col("steps", int4OID), col("done", int4OID),
		col("bytes", int8OID), col("documents", int8OID), col("seconds", float8OID), col("waits_for", textOID),
		col("error", textOID), col("made", timestampTZ), col("updated", timestampTZ)),
	view(9141, "plan_steps", "steps of the plans of this database",
		col("plan", int8OID), col("step", int4OID), col("ranges", textOID), col("from_fragment", textOID),
		col("to_fragment", textOID), col("bytes", int8OID), col("documents", int8OID), col("seconds", float8OID),
		col("reason", textOID), col("state", textOID), col("move", int8OID)),
	view(9142, "advice", "proposals of the balancer, and problems that moves do not solve",
		col("database", textOID), col("subject", textOID), col("advice", textOID), col("remedy", textOID)),
	view(9143, "obese_buckets",
		"buckets [first_bucket, end_bucket) of each table of this database that are too large to be moved for "+
			"balance, and remedies",
		col("collection", regclassOID), col("first_bucket", int4OID), col("end_bucket", int4OID),
		col("fragment", textOID), col("documents", int8OID), col("bytes", int8OID), col("share", float8OID),
		col("hottest_fields", textArray), col("remedy", textOID), col("advice", textOID)),
}
