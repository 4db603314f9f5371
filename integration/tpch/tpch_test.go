package main

import (
	"os"
	"testing"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/comparison"
	"github.com/sherddb/sherd/integration/tpch/dbgen"
)

func TestMain(m *testing.M) { os.Exit(integration.ExitCode(m.Run())) }

// TestPlans compares the plans of the queries in the placed layout.
func TestPlans(t *testing.T) {
	data, err := newData(dbgen.LeastScale, "placed")
	if err != nil {
		t.Fatal(err)
	}
	comparison.TestPlans(t, data, "testdata/queries.txt")
}

func TestReadCases(t *testing.T) {
	cases, err := readCases(0.2)
	if err != nil || len(cases) != 22 {
		t.Fatal(len(cases), err)
	}
	if q := cases[10]; q.Name != "q11" || *q.Params[0].Value != "0.0005000000" {
		t.Errorf("%+v", q)
	}
}
