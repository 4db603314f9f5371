package pgcatalog

// topologyViews are the views about moves, OIDs from 9130.
var topologyViews = []*Relation{
	view(9130, "moves", "running moves of buckets [first_bucket, end_bucket) of this database: progress, and what "+
		"each waits for",
		col("id", int8OID), col("what", textOID), col("first_bucket", int4OID), col("end_bucket", int4OID),
		col("source", textOID), col("target", textOID), col("state", textOID), col("phase", textOID),
		col("step", int8OID), col("step_first", int4OID), col("step_end", int4OID), col("buckets_left", int4OID),
		col("bytes_left", int8OID), col("documents", int8OID), col("bytes", int8OID), col("bytes_per_second", int8OID),
		col("blocked_ms", float8OID), col("worst_blocked_ms", float8OID), col("retries", int8OID),
		col("waits_for", textOID), col("started", timestampTZ), col("updated", timestampTZ), col("who", textOID),
		col("why", textOID), col("plan", int8OID), col("error", textOID)),
	view(9131, "move_history",
		"moves of buckets [first_bucket, end_bucket) of this database that ended within the last 90 days",
		col("id", int8OID), col("what", textOID), col("first_bucket", int4OID), col("end_bucket", int4OID),
		col("target", textOID), col("outcome", textOID), col("started", timestampTZ), col("ended", timestampTZ),
		col("steps", int8OID), col("documents", int8OID), col("bytes", int8OID), col("blocked_ms", float8OID),
		col("worst_blocked_ms", float8OID), col("retries", int8OID), col("who", textOID), col("why", textOID),
		col("plan", int8OID), col("error", textOID)),
	view(9132, "changelog",
		"changes of the cluster's topology, of policies, placement, nodes and settings: who made them, when and "+
			"why, of the last 90 days",
		col("at", timestampTZ), col("kind", textOID), col("database", textOID), col("subject", textOID),
		col("change", textOID), col("who", textOID), col("why", textOID), col("plan", int8OID)),
	view(9133, "pins", "pinned buckets [first_bucket, end_bucket) of this database, which stay in their fragment",
		col("first_bucket", int4OID), col("end_bucket", int4OID), col("fragment", textOID), col("anchors", textArray)),
}
