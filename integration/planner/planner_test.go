package main

import (
	"os"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/comparison"
)

func TestMain(m *testing.M) { os.Exit(integration.ExitCode(m.Run())) }

// smallScale is the scale of the data that the golden plans are made with.
const smallScale = 0.01

// TestPlans compares the plan of each case with the one in its file.
func TestPlans(t *testing.T) {
	data, err := newData(smallScale)
	if err != nil {
		t.Fatal(err)
	}
	comparison.TestPlans(t, data, "testdata/cases")
}

// TestFragments checks that the number of fragments changes no rows.
func TestFragments(t *testing.T) {
	if testing.Short() {
		t.Skip("loads two nodes")
	}
	cases, err := comparison.ReadCases(testdata, casesPattern)
	if err != nil {
		t.Fatal(err)
	}
	data, err := newData(smallScale)
	if err != nil {
		t.Fatal(err)
	}
	comparison.TestFragments(t, data, cases, 1, 16)
}

// TestCases checks that the program reads the cases that TestPlans sees.
func TestCases(t *testing.T) {
	cases, err := comparison.ReadCases(testdata, casesPattern)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		// datadriven.RunTest compares answers. The expected answer is returned as it is.
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if seen < len(cases) && d.FullCmd() != directive(&cases[seen]) {
				d.Fatalf(t, "the program reads %s", directive(&cases[seen]))
			}
			seen++
			return d.Expected
		})
	})
	if seen != len(cases) {
		t.Errorf("the program reads %d cases of %d", len(cases), seen)
	}
}

func directive(c *comparison.Case) string {
	if c.Writes {
		return "write " + c.Name
	}
	return "case " + c.Name
}
