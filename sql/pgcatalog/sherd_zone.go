package pgcatalog

// zoneViews are the views about where data may lie, OIDs from 9150.
var zoneViews = []*Relation{
	view(9150, "zones", "fragments of this database whose replicas may only be on nodes with some labels, and "+
		"whether they are",
		col("fragment", textOID), col("labels", textOID), col("replication_factor", int4OID),
		col("nodes_with_labels", textArray), col("inside", textArray), col("outside", textArray), col("kept", boolOID),
		col("state", textOID)),
}
