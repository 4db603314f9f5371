package pgcatalog

// idProcs are the functions about former ids of documents, OIDs from 8070.
func idProcs() []*Proc {
	return []*Proc{
		about(fn(8070, "forwarded", "sherd_forwarded", 's', textOID, oidOID, textOID, textOID),
			"gives the present id of a document that a statement has named by a former one, and counts that"),
		about(named(fn(8071, "replace_placement", "sherd_replace_placement", 'v', int8OID, regclassOID, boolOID),
			[]string{"collection", "spread"}, "false"),
			"changes the ids of a collection's documents that do not lie where its policy wants them, in the "+
				"background; they are found by their former ids too. With spread, also those of documents that the "+
				"policy allows where they are, but would put into another bucket of its Range now. Returns the "+
				"number of the job"),
		about(table(fn(8072, "rewrite_references", "sherd_references", 'v', recordOID, regclassOID),
			[]string{"referrer", "path", "constraint", "by_former_id"}, regclassOID, textOID, textOID, int8OID),
			"lists the foreign keys that refer to a collection, and how many rows do so by former ids"),
		about(fn(8073, "rewrite_references", "sherd_rewrite_references", 'v', int8OID, regclassOID, regclassOID,
			textOID),
			"puts the present ids of a collection's documents in the place of former ones, in a column of another "+
				"table or at a path of its documents, in the background. Gives the number of the job"),
		about(fn(8074, "drop_forwarding", "sherd_drop_forwarding", 'v', voidOID, regclassOID),
			"ends the former ids of a collection's documents"),
		about(fn(8075, "pause_job", "sherd_pause_job", 'v', voidOID, int8OID),
			"stops a job of replace_placement, rewrite_references or start_validation for a while"),
		about(fn(8076, "resume_job", "sherd_resume_job", 'v', voidOID, int8OID),
			"lets a job of replace_placement, rewrite_references or start_validation go on that was stopped or has "+
				"failed"),
		about(fn(8077, "cancel_job", "sherd_cancel_job", 'v', voidOID, int8OID),
			"ends a job of replace_placement, rewrite_references or start_validation; what it has done stays"),
		about(fn(8078, "start_validation", "sherd_start_validation", 'v', int8OID, regclassOID),
			"looks in the background whether all documents of a collection lie where its policy allows, and trusts "+
				"the policy then. Gives the number of the job"),
	}
}

// idViews are the views about former ids of documents, OIDs from 9160.
var idViews = []*Relation{
	view(9160, "forwarding_hits",
		"former ids by which documents were found since the nodes have started, by whom, the last ones of each node",
		col("collection", regclassOID), col("old", textOID), col("new", textOID), col("hits", int8OID),
		col("last_used", timestampTZ),
		col("application_name", textOID), col("query", textOID)),
	view(9161, "offenders",
		"documents that jobs of start_validation have found where the policy of their collection does not allow, "+
			"the first hundred of each job",
		col("job", int8OID), col("collection", regclassOID), col("id", textOID), col("bucket", int4OID),
		col("detail", textOID)),
}
