package sherd

import (
	_ "github.com/anishathalye/porcupine"
	_ "github.com/cespare/xxhash/v2"
	_ "github.com/cockroachdb/apd/v3"
	_ "github.com/dgraph-io/badger/v4"
	_ "github.com/dlclark/regexp2"
	_ "github.com/google/btree"
	_ "github.com/hashicorp/raft"
	_ "github.com/hashicorp/raft-wal"
	_ "github.com/jackc/pgproto3/v2"
	_ "github.com/jackc/pgx/v5"
	_ "github.com/pganalyze/pg_query_go/v6"
	_ "github.com/spf13/cobra"
	_ "github.com/tidwall/btree"
	_ "google.golang.org/protobuf/proto"
)
