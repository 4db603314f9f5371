package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sherddb/sherd/integration/comparison"
)

// newData returns the collections of a layout, plain or placed, at a scale.
func newData(scale float64, layout string) (*comparison.Data, error) {
	tables, err := testdata.ReadFile("testdata/tables.sql")
	if err != nil {
		return nil, err
	}
	indexes, err := testdata.ReadFile("testdata/indexes.sql")
	if err != nil {
		return nil, err
	}
	c := &collections{
		customers: max(100, int(20_000*scale)), orders: max(300, int(300_000*scale)), placed: layout == "placed",
	}
	if !c.placed && layout != "plain" {
		return nil, fmt.Errorf("layout %s is not plain or placed", layout)
	}
	return &comparison.Data{
		Definitions: string(tables), Indexes: string(indexes), Plain: !c.placed,
		Tables: []comparison.Table{
			{Name: "customers", Write: c.writeCustomers}, {Name: "orders", Write: c.writeOrders},
		},
	}, nil
}

// collections is the documents.
type collections struct {
	customers, orders int
	placed            bool // the id of an order names its customer, and so is in the bucket of the customer
}

var (
	segments  = []string{"consumer", "corporate", "public", "small business"}
	countries = []string{"de", "us", "fr", "gb", "it", "es", "nl", "pl", "se", "at"}
	statuses  = []string{"paid", "shipped", "shipped", "shipped", "new", "returned"}
	start     = time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC)
)

func (c *collections) writeCustomers(w *bufio.Writer) error {
	r := rand.New(rand.NewPCG(1, 300))
	for i := range c.customers {
		fmt.Fprintf(w, "customers/%d\t"+`{"Name": "customer %d", "City": "city %d", "Segment": "%s", "Since": %d}`+"\n",
			i+1, i+1, i%500, segments[r.IntN(len(segments))], 2000+r.IntN(25))
	}
	return nil // a bufio.Writer keeps its error for Flush
}

// customerOf returns the customer of an order. Some customers have more orders than others.
func (c *collections) customerOf(order int) int {
	r := rand.New(rand.NewPCG(2, uint64(order)))
	return 1 + min(r.IntN(c.customers), r.IntN(c.customers))
}

func (c *collections) orderID(order int) string {
	if c.placed {
		return fmt.Sprintf("orders/%d$customers/%d", order, c.customerOf(order))
	}
	return fmt.Sprintf("orders/%d", order)
}

func (c *collections) writeOrders(w *bufio.Writer) error {
	r := rand.New(rand.NewPCG(3, 300))
	year := 365 * 24 * time.Hour
	for i := range c.orders {
		order := i + 1
		at := start.Add(year / time.Duration(c.orders) * time.Duration(i)).Truncate(time.Millisecond)
		var lines []string
		total := 0
		for range 1 + r.IntN(4) {
			quantity, price := 1+r.IntN(9), r.IntN(100_00)
			total += quantity * price
			lines = append(lines, fmt.Sprintf(`{"Sku": "sku-%d", "Quantity": %d, "Price": %d.%02d}`, r.IntN(2000),
				quantity, price/100, price%100))
		}
		total %= 1000_00
		more := ""
		if r.IntN(2) == 0 {
			shipped := at.Add(time.Duration(r.IntN(200)) * time.Hour)
			more += fmt.Sprintf(`, "ShippedAt": "%s"`, shipped.Format(time.RFC3339))
		}
		if previous := order - 1 - r.IntN(100); previous > 0 {
			more += fmt.Sprintf(`, "Previous": "%s"`, c.orderID(previous))
		}
		fmt.Fprintf(w, "%s\t"+`{"Customer": "customers/%d", "Country": "%s", "Status": "%s", "Total": %d.%02d, `+
			`"OrderedAt": "%s", "Address": {"Zip": "%05d", "Street": "street %d"}, "Lines": [%s], "Note": "%s"%s}`+"\n",
			c.orderID(order), c.customerOf(order), countries[r.IntN(len(countries))], statuses[r.IntN(len(statuses))],
			total/100, total%100, at.Format("2006-01-02T15:04:05.000"), r.IntN(1000), r.IntN(300),
			strings.Join(lines, ", "), note(r), more)
	}
	return nil
}

// note returns words of random letters.
func note(r *rand.Rand) string {
	const letters = "abcdefghijklmnopqrstuvwxyz     "
	b := make([]byte, 40+r.IntN(80))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}
