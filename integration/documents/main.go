// Command documents compares Sherd with PostgreSQL 15 in statements over documents: 300,000 orders
// with lines, and their customers. It does so in two layouts: in plain, orders are placed by their
// ids; in placed, Sherd has the orders of a customer in one bucket with the customer.
//
//	make documents
//	make documents SCALE=0.1 DOCUMENTS=window
//	go run ./integration/documents -scale 0.1 -layouts placed -only join -explain 2
//
// The statements are in testdata/queries.txt, with Sherd's plans in the placed layout, which TestPlans
// compares.
package main

import (
	"context"
	"embed"
	"flag"
	"log"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/sherddb/sherd/integration/comparison"
)

//go:embed testdata
var testdata embed.FS

func main() {
	log.SetFlags(0)
	o := comparison.Flags(1, time.Minute)
	layouts := flag.String("layouts", "plain,placed", "layouts to compare in, separated by commas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, strings.Split(*layouts, ",")); err != nil {
		log.Fatal("documents: ", err)
	}
}

func run(ctx context.Context, o *comparison.Options, layouts []string) error {
	cases, err := comparison.ReadCases(testdata, "testdata/*.txt")
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
