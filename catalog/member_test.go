package catalog

import (
	"bytes"
	"reflect"
	"testing"
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
