// Command tpch compares Sherd with PostgreSQL 15 in the 22 queries of TPC-H: the rows, and the ratio
// of the times. It does so in two layouts: plain has primary keys alone; placed also has indexes of
// foreign keys and dates, and Sherd has the lines of an order in one bucket with the order, and the
// suppliers of a part with the part.
//
//	make tpch
//	make tpch SCALE=0.05 TPCH='q3|q18'
//	go run ./integration/tpch -scale 0.05 -layouts placed -only 'q3$' -explain 2
//
// The rows are those of package dbgen. The queries are in testdata/queries.txt, with Sherd's plans in
// the placed layout, which TestPlans compares. This is no result of the TPC benchmark H.
package main

import (
	"bufio"
	"context"
	"embed"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sherddb/sherd/integration/comparison"
	"github.com/sherddb/sherd/integration/tpch/dbgen"
)

//go:embed testdata
var testdata embed.FS

func main() {
	log.SetFlags(0)
	o := comparison.Flags(0.2, 2*time.Minute)
	layouts := flag.String("layouts", "plain,placed", "layouts to compare in, separated by commas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, strings.Split(*layouts, ",")); err != nil {
		log.Fatal("tpch: ", err)
	}
}

// run compares in each layout, on servers of its own.
func run(ctx context.Context, o *comparison.Options, layouts []string) error {
	cases, err := readCases(o.Scale)
	if err != nil {
		return err
	}
	for _, layout := range layouts {
		data, err := newData(o.Scale, layout)
		if err != nil {
			return err
		}
		if err := comparison.Compare(ctx, o, layout, data, cases); err != nil {
			return err
		}
	}
	return nil
}

// readCases reads the queries. The parameter of query 11 depends on the scale factor.
func readCases(scale float64) ([]comparison.Case, error) {
	cases, err := comparison.ReadCases(testdata, "testdata/*.txt")
	for i := range cases {
		if cases[i].Name == "q11" {
			fraction := strconv.FormatFloat(0.0001/scale, 'f', 10, 64)
			cases[i].Params[0].Value = &fraction
		}
	}
	return cases, err
}

// newData returns the tables of a layout, plain or placed.
func newData(scale float64, layout string) (*comparison.Data, error) {
	population, err := dbgen.New(scale)
	if err != nil {
		return nil, err
	}
	tables, err := testdata.ReadFile("testdata/tables.sql")
	if err != nil {
		return nil, err
	}
	indexes, err := testdata.ReadFile("testdata/indexes.sql")
	if err != nil {
		return nil, err
	}
	d := &comparison.Data{Definitions: string(tables), Plain: layout == "plain"}
	switch layout {
	case "plain":
	case "placed":
		d.Indexes = string(indexes)
	default:
		return nil, fmt.Errorf("layout %s is not plain or placed", layout)
	}
	for _, name := range dbgen.Tables() {
		d.Tables = append(d.Tables, comparison.Table{
			Name: name, Write: func(w *bufio.Writer) error { return population.Write(w, name) },
		})
	}
	return d, nil
}
