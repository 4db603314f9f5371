package main

import (
	"slices"
	"testing"

	"github.com/sherddb/sherd/cluster"
	"github.com/sherddb/sherd/txn"
)

func TestChooseRemnants(t *testing.T) {
	found := []cluster.Remnant{
		{Fragment: txn.CatalogFragment, Voters: []uint32{1, 2, 3}, Lost: true},
		{Fragment: 4, Voters: []uint32{1, 2, 3}, Lost: true},
		{Fragment: 5, Voters: []uint32{1, 2, 4}},
	}
	for _, c := range []struct {
		only string
		want []txn.FragmentID // nil: refused
	}{
		{"", []txn.FragmentID{txn.CatalogFragment, 4}},
		{"catalog", []txn.FragmentID{txn.CatalogFragment}},
		{"4, catalog", []txn.FragmentID{txn.CatalogFragment, 4}},
		{"5", nil},
		{"9", nil},
	} {
		got, err := chooseRemnants(found, c.only)
		if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v", c.only, got, err)
		}
	}
	if _, err := numbers("1,x"); err == nil {
		t.Error("x is a number")
	}
}
