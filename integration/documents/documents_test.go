package main

import (
	"os"
	"testing"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/comparison"
)

func TestMain(m *testing.M) { os.Exit(integration.ExitCode(m.Run())) }

// TestPlans compares the plans of the statements in the placed layout.
func TestPlans(t *testing.T) {
	data, err := newData(0.01, "placed")
	if err != nil {
		t.Fatal(err)
	}
	comparison.TestPlans(t, data, "testdata/queries.txt")
}
