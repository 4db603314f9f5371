package catalog

import (
	"bytes"
	"github.com/sherddb/sherd/shardmap"
	"reflect"
	"slices"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// memberOps are what lets nodes in, with all fields set.
func memberOps() []op {
	hash := bytes.Repeat([]byte{7, 1}, 16)
	var ops []op
	for _, d := range []descriptor{
		&Authority{ID: 1<<56 - 2, Phase: AuthoritySigning, Secret: []byte("-----BEGIN PRIVATE KEY-----")},
		&JoinToken{Hash: hash, Authority: 1<<56 - 2, CreatedMicros: 1, ExpiresMicros: 2, Node: 3, UsedBy: []byte{9}},
	} {
		ops = append(ops, op{kind: putOp, key: keyOf(d), desc: d})
	}
	return ops
}

// nodeOps are nodes with the fields that came with clusters of several.
func nodeOps() []op {
	n := &Node{ID: 1, Name: "n1", Block: "A", Gateway: true, Release: "0.2.0", Speaks: 2, State: NodeDraining}
	return []op{{kind: putOp, key: keyOf(n), desc: n}}
}

// lostOps are a node that unsafe recovery went on without.
func lostOps() []op {
	n := &Node{ID: 1, Name: "n1", Block: "A", State: NodeLost}
	return []op{{kind: putOp, key: keyOf(n), desc: n}}
}

func TestLostNodeFormat(t *testing.T) {
	data, err := encodeBatch(lostOps())
	if err != nil {
		t.Fatal(err)
	}
	if e, err := decodeEntry(golden(t, "node-lost.v1", data)); err != nil || !reflect.DeepEqual(e.ops, lostOps()) {
		t.Errorf("batch: %v", err)
	}
}

func TestNodeFormat(t *testing.T) {
	data, err := encodeBatch(nodeOps())
	if err != nil {
		t.Fatal(err)
	}
	if e, err := decodeEntry(golden(t, "node.v1", data)); err != nil || !reflect.DeepEqual(e.ops, nodeOps()) {
		t.Errorf("batch: %v", err)
	}
}

// replicaOps are fragments with replicas on several nodes.
func replicaOps() []op {
	d := &Database{
		OID: 5, Name: "orders", Owner: 10, Map: shardmap.NewInitialMap([]uint32{1}), ReplicationFactor: 3,
		Fragments: []Fragment{{ID: 1, Nodes: []uint32{1, 2, 3, 4}, Joining: []uint32{2, 4}, Leaving: []uint32{3}}},
	}
	j := &Job{ID: 1, Kind: DropStorageJob, State: JobRunning, Payload: []byte{1}, Node: 3, Swept: []uint32{1, 7}}
	return []op{{kind: putOp, key: keyOf(d), desc: d}, {kind: putOp, key: keyOf(j), desc: j}}
}

func TestReplicaFormat(t *testing.T) {
	data, err := encodeBatch(replicaOps())
	if err != nil {
		t.Fatal(err)
	}
	if e, err := decodeEntry(golden(t, "replicas.v1", data)); err != nil || !reflect.DeepEqual(e.ops, replicaOps()) {
		t.Errorf("batch: %v", err)
	}
	for _, f := range []Fragment{
		{ID: 1, Nodes: []uint32{1, 1}}, {ID: 1, Nodes: []uint32{1}, Joining: []uint32{2}}, {ID: 1, Nodes: []uint32{1}, Joining: []uint32{1}},
		{ID: 1, Nodes: []uint32{1, 2}, Leaving: []uint32{1, 1}}, {ID: 1, Nodes: []uint32{1, 2}, Leaving: []uint32{1, 2}},
	} {
		if f.checkNodes() == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}

// A removed node is nobody's any more, but for who asks for removed ones; its name is free, and its number is not.
func TestRemoveNode(t *testing.T) {
	c := openBootstrapped(t)
	id := must[uint32](t)(c.NewNodeID(t.Context()))
	v := must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error {
		return ch.PutNode(&Node{ID: id, Name: "n2", Block: "B"})
	}))
	v = must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error { return ch.RemoveNode(v.Node(id)) }))
	if v.Node(id) != nil || v.NodeByName("n2") != nil || v.RemovedNode(id) == nil || v.RemovedNode(1) != nil || len(slices.Collect(v.Nodes())) != 1 {
		t.Errorf("node %d is there still", id)
	}
	next := must[uint32](t)(c.NewNodeID(t.Context()))
	v = must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error {
		return ch.PutNode(&Node{ID: next, Name: "n2", Block: "B"})
	}))
	if next == id || v.NodeByName("n2").ID != next {
		t.Errorf("number %d after %d", next, id)
	}
	if _, err := c.Update(t.Context(), func(v *View, ch *Change) error { return ch.RemoveNode(v.Node(1)) }); pgerr.Code(err) != pgerr.DependentObjectsStillExist {
		t.Errorf("a node with fragments was removed: %v", err)
	}
}

func TestMemberFormats(t *testing.T) {
	ops := append(memberOps(), op{kind: dropOp, key: newKey(tokenObject, 5), expect: 9})
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := decodeEntry(golden(t, "members.v1", data)); err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("batch: %v", err)
	}
}

// A token is taken once, whoever comes first; nobody who plans a statement is disturbed.
func TestJoinTokens(t *testing.T) {
	c := openBootstrapped(t)
	token := &JoinToken{Hash: bytes.Repeat([]byte{5}, 32), Authority: 1, CreatedMicros: 1, ExpiresMicros: 2}
	before := c.View().DefinitionVersion()
	if _, err := c.Update(t.Context(), func(_ *View, ch *Change) error { return ch.PutJoinToken(token) }); err != nil {
		t.Fatal(err)
	}
	base := c.View()
	take := func(key byte) error {
		ch, u := base.Plan(), base.JoinToken(token.Hash).Clone()
		u.UsedBy = []byte{key}
		if err := ch.PutJoinToken(u); err != nil {
			return err
		}
		_, err := c.Apply(t.Context(), ch)
		return err
	}
	if err := take(1); err != nil {
		t.Fatal(err)
	}
	if err := take(2); !IsConflict(err) {
		t.Fatalf("the second: %v", err)
	}
	if got := c.View().JoinToken(token.Hash); got == nil || got.UsedBy[0] != 1 {
		t.Fatalf("%+v", got)
	}
	if c.View().JoinToken(bytes.Repeat([]byte{5, 6}, 16)) != nil || c.View().JoinToken(nil) != nil {
		t.Error("another hash finds a token")
	}
	if after := c.View().DefinitionVersion(); after != before {
		t.Errorf("definitions went from %d to %d", before, after)
	}
}
