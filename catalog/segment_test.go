package catalog

import (
	"reflect"
	"testing"

	"github.com/sherddb/sherd/shardmap"
)

// segmentOps are a range table.
func segmentOps() []op {
	t := &Table{
		OID: 16385, Database: 5, Schema: 16384, Name: "events", Owner: 10, Kind: KindTable, Version: 1, StorageID: 16390, NextAttNum: 2,
		Columns:  []Column{{AttNum: 1, Name: "at", Type: 20, Typmod: -1, NotNull: true}},
		Segments: shardmap.Segments{{Bucket: 1 << 20}, {Start: []byte{0x80, 7}, Bucket: 1<<20 + 2}},
	}
	return []op{{kind: putOp, key: keyOf(t), desc: t}}
}

func TestSegmentFormat(t *testing.T) {
	data, err := encodeBatch(segmentOps())
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "segments.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, segmentOps()) {
		t.Fatalf("%+v, %v", e.ops, err)
	}
}
