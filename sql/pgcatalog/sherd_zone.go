package pgcatalog

// zoneProcs are the functions that restrict where data may lie, OIDs from 8100.
func zoneProcs() []*Proc {
	const no, none = "false", "''::text"
	return []*Proc{
		about(named(fn(8100, "set_fragment_labels", "sherd_set_fragment_labels", 'v', voidOID, textOID, textOID,
			textOID),
			[]string{"fragment", "labels", "why"}, none),
			"restricts the replicas of a fragment to nodes with labels, as 'region=eu|us, disk!=hdd', in addition "+
				"to the rule of its database; '' removes the rule"),
		about(named(fn(8101, "set_database_labels", "sherd_set_database_labels", 'v', voidOID, textOID, textOID,
			textOID),
			[]string{"database", "labels", "why"}, none),
			"restricts the replicas of a database's fragments to nodes with labels; '' removes the rule"),
		about(named(fn(8102, "pin_anchors", "sherd_pin_anchors", 'v', int8OID, regclassOID, textArray, textOID, boolOID,
			textOID),
			[]string{"collection", "anchors", "fragment", "wait", "why"}, no, none),
			"moves the buckets of anchors, with all documents that have them, to a fragment and pins them there; "+
				"returns the number of moves started"),
		about(named(fn(8103, "unpin_anchors", "sherd_unpin_anchors", 'v', int8OID, regclassOID, textArray, textOID),
			[]string{"collection", "anchors", "why"}, none),
			"removes the pins of pin_anchors; returns the number of buckets that are not pinned any more"),
	}
}

// zoneViews are the views about where data may lie, OIDs from 9150.
var zoneViews = []*Relation{
	view(9150, "zones", "fragments of this database whose replicas may only be on nodes with some labels, and "+
		"whether they are",
		col("fragment", textOID), col("labels", textOID), col("replication_factor", int4OID),
		col("nodes_with_labels", textArray), col("inside", textArray), col("outside", textArray), col("kept", boolOID),
		col("state", textOID)),
}
