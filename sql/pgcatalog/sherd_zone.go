package pgcatalog

// zoneProcs are the functions that restrict where data may lie, OIDs from 8100.
func zoneProcs() []*Proc {
	const no, none = "false", "''::text"
	return []*Proc{
		about(named(fn(8100, "set_fragment_labels", "sherd_set_fragment_labels", 'v', voidOID, textOID, textOID,
			textOID),
			[]string{"fragment", "labels", "why"}, none),
			"says by labels on which nodes the replicas of a fragment may be, as 'region=eu|us, disk!=hdd', besides "+
				"what holds for its database; '' is no rule"),
		about(named(fn(8101, "set_database_labels", "sherd_set_database_labels", 'v', voidOID, textOID, textOID,
			textOID),
			[]string{"database", "labels", "why"}, none),
			"says by labels on which nodes the replicas of a database's fragments may be; '' is no rule"),
		about(named(fn(8102, "pin_anchors", "sherd_pin_anchors", 'v', int8OID, regclassOID, textArray, textOID, boolOID,
			textOID),
			[]string{"collection", "anchors", "fragment", "wait", "why"}, no, none),
			"moves the buckets of documents, and all that is anchored to them, to a fragment, and keeps them there; "+
				"gives the number of moves begun"),
		about(named(fn(8103, "unpin_anchors", "sherd_unpin_anchors", 'v', int8OID, regclassOID, textArray, textOID),
			[]string{"collection", "anchors", "why"}, none),
			"ends what pin_anchors said of documents; gives the number of buckets that nothing keeps any more"),
	}
}

// zoneViews are the views about where data may lie, OIDs from 9150.
var zoneViews = []*Relation{
	view(9150, "zones", "fragments of this database whose replicas may be on nodes with some labels only, and how "+
		"that is kept",
		col("fragment", textOID), col("labels", textOID), col("replication_factor", int4OID),
		col("nodes_with_labels", textArray), col("inside", textArray),
		col("outside", textArray), col("kept", boolOID), col("state", textOID)),
}
