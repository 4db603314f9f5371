package main

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/fragment/recovery"
	"github.com/sherddb/sherd/txn"
)

func TestChooseRemnants(t *testing.T) {
	found := []recovery.Remnant{
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

// TestRemnantNames: fragments are listed with the names that the catalog of the stopped node has
// for them, and without if it has none.
func TestRemnantNames(t *testing.T) {
	dir := t.TempDir()
	c, err := catalog.Open(catalog.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Bootstrap(t.Context(), catalog.BootstrapOptions{
		ClusterID: catalog.NewCluster().ClusterID, Fragments: 2, Format: 1,
		Node: catalog.Node{ID: 1, Name: "n1", Block: "A"},
	}); err != nil {
		t.Fatal(err)
	}
	f := c.View().Database(catalog.PostgresDB).Fragments[1].ID
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	found := []recovery.Remnant{
		{Fragment: txn.CatalogFragment, Voters: []uint32{1}}, {Fragment: f, Voters: []uint32{1}},
		{Fragment: f + 70, Voters: []uint32{1}},
	}
	if err := tellRemnants(&out, found, nil, fragmentNames(dir, 1)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[2], " postgres$1 ") || strings.Contains(lines[1]+lines[3], "postgres") {
		t.Errorf("%s", out.String())
	}
}
