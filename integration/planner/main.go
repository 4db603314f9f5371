// Command planner compares Sherd with PostgreSQL 15 in everyday statements that depend on how the
// rows are reached: by keys, indexes, orders, joins, subqueries. Both load the same tables, of
// 200,000 and 1,000,000 rows and some smaller ones, and run each statement in turn: one client,
// prepared, warm. It prints the median times and their ratio, and fails if rows differ.
//
//	make planner
//	make planner PLANNER=keyset SCALE=0.1
//	go run ./integration/planner -scale 0.1 -only keyset -explain 2
//
// The statements are in testdata/cases, with Sherd's plans, which TestPlans compares; package
// comparison describes the files. To add a case, write it without a plan and run
//
//	go test ./integration/planner -rewrite
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/sherddb/sherd/integration/comparison"
)

func main() {
	log.SetFlags(0)
	o := comparison.Flags(1, 20*time.Second)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal("planner: ", err)
	}
}

func run(ctx context.Context, o *comparison.Options) error {
	cases, err := comparison.ReadCases(testdata, casesPattern)
	if err != nil {
		return err
	}
	data, err := newData(o.Scale)
	if err != nil {
		return err
	}
	return comparison.Compare(ctx, o, "", data, cases)
}

const casesPattern = "testdata/cases/*.txt"
