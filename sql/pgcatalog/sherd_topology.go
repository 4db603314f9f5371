package pgcatalog

// topologyProcs are the functions that change where buckets lie, OIDs from 8040.
func topologyProcs() []*Proc {
	const no, none = "false", "''::text"
	return []*Proc{
		about(named(fn(8040, "move_buckets", "sherd_move_buckets", 'v', int8OID, textOID, int4OID, int4OID, textOID,
			boolOID, textOID),
			[]string{"database", "from_bucket", "to_bucket", "fragment", "wait", "why"}, no, none),
			"moves the buckets [from_bucket, to_bucket) to a fragment, while they are read and written; "+
				"returns the number of the move, with wait after the move has ended"),
		about(named(fn(8041, "move_bucket", "sherd_move_bucket", 'v', int8OID, textOID, int4OID, textOID, boolOID,
			textOID),
			[]string{"database", "bucket", "fragment", "wait", "why"}, no, none),
			"moves one bucket to a fragment, as move_buckets does"),
		about(named(fn(8042, "move_anchor", "sherd_move_anchor", 'v', int8OID, textOID, textOID, boolOID, textOID),
			[]string{"anchor", "fragment", "wait", "why"}, no, none),
			"moves the bucket of an anchor, with all documents that have it, to a fragment of this database"),
		about(named(fn(8043, "isolate_anchor", "sherd_isolate_anchor", 'v', textOID, textOID, boolOID, textOID),
			[]string{"anchor", "wait", "why"}, no, none),
			"moves the bucket of an anchor, with all documents that have it, to a new fragment of this database; "+
				"returns the fragment's name"),
		about(named(fn(8044, "add_fragment", "sherd_add_fragment", 'v', textOID, textOID, textOID),
			[]string{"database", "why"}, none),
			"adds a fragment without buckets to a database; returns its name"),
		about(named(fn(8045, "remove_fragment", "sherd_remove_fragment", 'v', int8OID, textOID, boolOID, textOID),
			[]string{"fragment", "wait", "why"}, no, none),
			"moves the buckets of a fragment to the others of its database and then drops it; returns the number "+
				"of the job"),
		about(named(fn(8046, "split_range", "sherd_split_range", 'v', voidOID, textOID, int4OID),
			[]string{"database", "bucket"}),
			"splits a range of the bucket map at a bucket, which begins the second range"),
		about(named(fn(8047, "merge_ranges", "sherd_merge_ranges", 'v', voidOID, textOID, int4OID),
			[]string{"database", "bucket"}),
			"merges two ranges of the bucket map in one fragment; the bucket begins the second range"),
		about(named(fn(8048, "pin", "sherd_pin", 'v', voidOID, textOID, int4OID, int4OID, textOID, textOID),
			[]string{"database", "from_bucket", "to_bucket", "fragment", "why"}, none),
			"keeps the buckets [from_bucket, to_bucket) in the fragment that owns them"),
		about(named(fn(8049, "unpin", "sherd_unpin", 'v', voidOID, textOID, int4OID, int4OID, textOID),
			[]string{"database", "from_bucket", "to_bucket", "why"}, none),
			"removes the pin of the buckets [from_bucket, to_bucket)"),
		about(named(fn(8050, "pause_move", "sherd_pause_move", 'v', voidOID, int8OID, textOID), []string{"move", "why"},
			none),
			"pauses a move; buckets that have arrived stay in the target"),
		about(named(fn(8051, "resume_move", "sherd_resume_move", 'v', voidOID, int8OID, textOID),
			[]string{"move", "why"}, none),
			"resumes a move that was paused or has failed"),
		about(named(fn(8052, "cancel_move", "sherd_cancel_move", 'v', voidOID, int8OID, textOID),
			[]string{"move", "why"}, none),
			"cancels a move, or the removal of a fragment; buckets that have arrived stay in the target"),
	}
}

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
