package pgcatalog

// idProcs are the functions about former ids of documents, OIDs from 8070.
func idProcs() []*Proc {
	return []*Proc{
		about(fn(8070, "forwarded", "sherd_forwarded", 's', textOID, oidOID, textOID, textOID),
			"returns the present id of a document that a statement has named by a former id, and counts the use"),
		about(named(fn(8071, "replace_placement", "sherd_replace_placement", 'v', int8OID, regclassOID, boolOID),
			[]string{"collection", "spread"}, "false"),
			"changes, in the background, the ids of a collection's documents that lie where its policy does not "+
				"allow; they are still found by their former ids. With spread, it also changes the ids of documents "+
				"that the policy would now put into another bucket of its Range. Returns the number of the job"),
		about(table(fn(8072, "rewrite_references", "sherd_references", 'v', recordOID, regclassOID),
			[]string{"referrer", "path", "constraint", "by_former_id"}, regclassOID, textOID, textOID, int8OID),
			"lists the foreign keys that refer to a collection, and the number of rows that use former ids"),
		about(fn(8073, "rewrite_references", "sherd_rewrite_references", 'v', int8OID, regclassOID, regclassOID,
			textOID),
			"replaces, in the background, former ids of a collection's documents by present ones, in a column of "+
				"another table or at a path of its documents. Returns the number of the job"),
		about(fn(8074, "drop_forwarding", "sherd_drop_forwarding", 'v', voidOID, regclassOID),
			"removes the former ids of a collection's documents"),
		about(fn(8075, "pause_job", "sherd_pause_job", 'v', voidOID, int8OID),
			"pauses a job of replace_placement, rewrite_references or start_validation"),
		about(fn(8076, "resume_job", "sherd_resume_job", 'v', voidOID, int8OID),
			"resumes a job of replace_placement, rewrite_references or start_validation that was paused or has "+
				"failed"),
		about(fn(8077, "cancel_job", "sherd_cancel_job", 'v', voidOID, int8OID),
			"cancels a job of replace_placement, rewrite_references or start_validation; its changes so far stay"),
		about(fn(8078, "start_validation", "sherd_start_validation", 'v', int8OID, regclassOID),
			"checks in the background that all documents of a collection lie where its policy allows, and then "+
				"marks the policy as validated. Returns the number of the job"),
	}
}

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
