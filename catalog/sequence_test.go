package catalog

import (
	"math"
	"reflect"
	"testing"
)

func sequenceOps() []op {
	s := NewSequenceTable(16391, 16392, Sequence{
		Type: 20, Start: 5, Increment: -2, Min: math.MinInt64, Max: 7, Cache: 10, Cycle: true, Table: 16385, Column: 2, Internal: true, Value: 3, Called: true,
	})
	s.Database, s.Schema, s.Owner, s.Name, s.Version = 5, 16384, 10, "orders_n_seq", 1
	t := &Table{
		OID: 16385, Database: 5, Schema: 16384, Name: "orders", Owner: 10, Kind: KindTable, Version: 3, StorageID: 16390, NextAttNum: 3,
		Columns: []Column{{AttNum: 2, Name: "n", Type: 20, Typmod: -1, NotNull: true, Identity: 'd', Sequence: 16391}},
	}
	return []op{{kind: putOp, key: keyOf(s), desc: s}, {kind: putOp, key: keyOf(t), desc: t}}
}

func TestSequenceFormat(t *testing.T) {
	ops := sequenceOps()
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "sequence.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

func TestSequenceAfter(t *testing.T) {
	up := Sequence{Increment: 3, Min: 1, Max: 10}
	down := Sequence{Increment: -1, Min: -3, Max: -1}
	around := Sequence{Increment: 3, Min: 1, Max: 10, Cycle: true}
	widest := Sequence{Increment: math.MaxInt64, Min: math.MinInt64, Max: math.MaxInt64}
	lowest := Sequence{Increment: math.MinInt64, Min: math.MinInt64, Max: math.MaxInt64}
	for i, c := range []struct {
		s      *Sequence
		value  int64
		called bool
		n      int64
		want   Run
		ok     bool
	}{
		{&up, 1, false, 2, Run{1, 4, 2}, true},
		{&up, 4, true, 33, Run{7, 10, 2}, true},
		{&up, 10, true, 1, Run{}, false},
		{&up, 8, true, 1, Run{}, false},
		{&up, 10, false, 5, Run{10, 10, 1}, true},
		{&around, 9, true, 5, Run{1, 10, 4}, true},
		{&down, -1, false, 10, Run{-1, -3, 3}, true},
		{&down, -3, true, 1, Run{}, false},
		{&widest, math.MinInt64, false, 9, Run{math.MinInt64, math.MaxInt64 - 1, 3}, true},
		{&lowest, math.MaxInt64, false, 9, Run{math.MaxInt64, -1, 2}, true},
	} {
		if got, ok := c.s.After(c.value, c.called, c.n); got != c.want || ok != c.ok {
			t.Errorf("%d: %+v, %v", i, got, ok)
		}
	}
}

func TestSetSequence(t *testing.T) {
	c := openBootstrapped(t)
	tab := newTable(t, c, "orders")
	s := NewSequenceTable(must[OID](t)(c.NewOID(t.Context())), must[OID](t)(c.NewOID(t.Context())), Sequence{Type: 20, Start: 1, Increment: 1, Max: 9, Cache: 1, Value: 1})
	s.Database, s.Schema, s.Owner, s.Name = tab.Database, tab.Schema, tab.Owner, "s"
	ch := c.View().Plan()
	if err := ch.PutTable(s); err != nil {
		t.Fatal(err)
	}
	before, err := ch.Preview()
	if err != nil {
		t.Fatal(err)
	}
	ch.SetSequence(s.OID, s.StorageID+1, 7, true) // another storage
	ch.SetSequence(s.OID, s.StorageID, 5, true)
	after, err := ch.Preview()
	if err != nil {
		t.Fatal(err)
	}
	if b, a := before.Table(s.OID).Sequence, after.Table(s.OID).Sequence; b.Value != 1 || b.Called || a.Value != 5 || !a.Called {
		t.Errorf("before %+v, after %+v", b, a)
	}
}
