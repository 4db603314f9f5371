package pgcatalog

// SherdNamespace is the OID of the schema sherd.
const SherdNamespace = 9000

// OIDs of types.
const (
	boolOID     = 16
	int8OID     = 20
	int4OID     = 23
	textOID     = 25
	xidOID      = 28
	float8OID   = 701
	int4Array   = 1007
	textArray   = 1009
	timestampTZ = 1184
	intervalOID = 1186
	regclassOID = 2205
	jsonbOID    = 3802
)

// fn returns a strict function of the schema sherd.
func fn(oid uint32, name, src string, volatility byte, ret uint32, args ...uint32) *Proc {
	return &Proc{
		OID: oid, Name: name, Namespace: "sherd", Kind: 'f', Strict: true, Volatility: volatility, ArgTypes: args,
		RetType: ret, Src: src,
	}
}

// sherdProcs are the functions of schema sherd that package sql/admin does not have, OIDs from 8000.
func sherdProcs() []*Proc {
	return []*Proc{
		fn(8000, "bucket", "sherd_bucket", 'i', int4OID, textOID),
		fn(8011, "slice", "sherd_slice", 'i', int4OID, textOID),
		fn(8012, "placed", "sherd_placed", 'v', boolOID),
		fn(8020, "txn_id", "sherd_txn_id", 's', textOID),
		fn(8021, "txn_outcome", "sherd_txn_outcome", 'v', textOID, textOID),
	}
}

// sherdViews are the views of the schema sherd, OIDs from 9100.
var sherdViews = []*Relation{
	view(9100, "bucket_map",
		"bucket ranges [first_bucket, end_bucket) of this database and the fragment that owns each",
		col("first_bucket", int4OID), col("end_bucket", int4OID), col("buckets", int4OID), col("fragment", textOID),
		col("epoch", int8OID)),
	view(9101, "fragments", "fragments of this database",
		col("fragment", textOID), col("ordinal", int4OID), col("leader", textOID), col("nodes", textArray),
		col("buckets", int4OID), col("documents", int8OID), col("bytes", int8OID), col("replication_factor", int4OID),
		col("state", textOID), col("placed_on", textArray), col("labels", textOID)),
	view(9102, "buckets", "ranges of buckets [first_bucket, end_bucket) with documents, and their statistics",
		col("first_bucket", int4OID), col("end_bucket", int4OID), col("fragment", textOID), col("documents", int8OID),
		col("bytes", int8OID), col("reads", float8OID), col("writes", float8OID)),
	view(9103, "policies", "sharding policies of this database's collections",
		col("collection", regclassOID), col("fields", textArray), col("range", int4OID), col("mutable", boolOID),
		col("validated", boolOID), col("definition", jsonbOID)),
	view(9104, "collections", "tables of this database: identity, document column and placement",
		col("collection", regclassOID), col("key", textArray), col("document", textOID), col("anchors", boolOID),
		col("anchor_by", textOID), col("policy", jsonbOID), col("documents", int8OID), col("bytes", int8OID)),
	view(9105, "databases", "databases of the cluster",
		col("database", textOID), col("fragments", int4OID), col("replication_factor", int4OID), col("epoch", int8OID),
		col("documents", int8OID), col("bytes", int8OID)),
	view(9106, "nodes", "nodes of the cluster",
		col("id", int4OID), col("name", textOID), col("block", textOID), col("sql_addr", textOID),
		col("node_addr", textOID), col("http_addr", textOID), col("labels", jsonbOID), col("role", textOID),
		col("state", textOID), col("release", textOID), col("replicas", int4OID), col("leads", int4OID),
		col("catalog", textOID), col("alive", boolOID), col("last_seen", timestampTZ), col("rtt", intervalOID),
		col("clock_ahead", intervalOID), col("weight", float8OID), col("max_bytes", int8OID)),
	view(9107, "settings", "Sherd's own settings",
		col("name", textOID), col("setting", textOID), col("description", textOID)),
	view(9108, "version", "product and version of this server",
		col("product", textOID), col("version", textOID), col("postgres", textOID)),
	view(9110, "locks", "locks of this database on tables and rows, and advisory locks, granted and awaited",
		col("locktype", textOID), col("relation", regclassOID), col("key", textOID), col("fragment", textOID),
		col("mode", textOID), col("granted", boolOID), col("txn", textOID), col("pid", int4OID),
		col("waiting_since", timestampTZ), col("blocked_by", int4Array)),
	view(9111, "txns", "open transactions of this database",
		col("txn", textOID), col("xid", xidOID), col("pid", int4OID), col("state", textOID), col("isolation", textOID),
		col("began", timestampTZ), col("fragments", textArray), col("staged_rows", int8OID),
		col("staged_bytes", int8OID), col("locks", int8OID), col("prepared", boolOID), col("commit_at", textOID),
		col("anchor", textOID), col("gid", textOID)),
	view(9112, "jobs", "background jobs of this database: running, or failed within the last day",
		col("id", int8OID), col("kind", textOID), col("object", textOID), col("progress", textOID),
		col("state", textOID), col("started", timestampTZ), col("updated", timestampTZ), col("error", textOID)),
	view(9114, "replicas", "replicas of this database's fragments, as their leaders see them",
		col("fragment", textOID), col("node", textOID), col("role", textOID), col("state", textOID),
		col("lag", int8OID), col("last_contact", timestampTZ), col("term", int8OID)),
	view(9115, "authorities",
		"authorities of the nodes' certificates: one, or two during a replacement, and the nodes that it waits for",
		col("authority", textOID), col("phase", textOID), col("since", timestampTZ), col("expires", timestampTZ),
		col("waits_for", textArray), col("waits_until", timestampTZ), col("certificate", textOID)),
	view(9120, "hot_buckets",
		"the most used buckets of this database: reads and writes per second over the last ten minutes",
		col("bucket", int4OID), col("fragment", textOID), col("reads", float8OID), col("writes", float8OID),
		col("share", float8OID)),
	view(9121, "hot_keys",
		"the most used rows of this database: reads and writes per second over the last ten minutes",
		col("collection", regclassOID), col("key", textOID), col("bucket", int4OID), col("fragment", textOID),
		col("reads", float8OID), col("writes", float8OID), col("share", float8OID), col("remedy", textOID),
		col("advice", textOID)),
	view(9122, "hot_documents", "documents of this database whose counters sherd.hot_split has split into parts",
		col("collection", regclassOID), col("id", textOID), col("parts", int4OID), col("counters", textArray),
		col("since", timestampTZ), col("who", textOID)),
	view(9113, "indexes", "indexes of this database: where their entries lie, and whether plans use them yet",
		col("index", regclassOID), col("collection", regclassOID), col("scope", textOID), col("unique", boolOID),
		col("state", textOID)),
}

func view(oid uint32, name, comment string, columns ...RelationColumn) *Relation {
	return &Relation{OID: oid, Schema: "sherd", Name: name, Kind: 'v', Columns: columns, Comment: comment}
}

func col(name string, typ uint32) RelationColumn {
	return RelationColumn{Name: name, Type: typ, Typmod: -1}
}
