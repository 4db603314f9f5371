package pgcatalog

// hotProcs are the functions about documents that are used too much, OIDs from 8096.
func hotProcs() []*Proc {
	const parts, none = "16", "'{}'::text[]"
	const split = "splits the counters of a document into parts in several buckets, so that concurrent additions do " +
		"not wait for each other; returns the number of parts"
	const join = "merges the parts of a document that sherd.hot_split has split"
	return []*Proc{
		about(named(fn(8096, "hot_split", "sherd_hot_split", 'v', int4OID, textOID, int4OID, textArray),
			[]string{"id", "parts", "counters"}, parts, none), split),
		about(named(fn(8097, "hot_split", "sherd_hot_split_of", 'v', int4OID, regclassOID, textOID, int4OID, textArray),
			[]string{"collection", "id", "parts", "counters"}, parts, none), split),
		// A call with two literals of unknown type, as hot_split('counters', 'x'), resolves to this
		// function, because strings are preferred.
		about(named(fn(8088, "hot_split", "sherd_hot_split_named", 'v', int4OID, textOID, textOID, int4OID, textArray),
			[]string{"collection", "id", "parts", "counters"}, parts, none), split),
		about(named(fn(8098, "hot_join", "sherd_hot_join", 'v', voidOID, textOID), []string{"id"}), join),
		about(named(fn(8099, "hot_join", "sherd_hot_join_of", 'v', voidOID, regclassOID, textOID),
			[]string{"collection", "id"}), join),
	}
}
