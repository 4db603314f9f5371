package main

import (
	"bufio"
	"embed"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sherddb/sherd/integration/comparison"
)

//go:embed testdata
var testdata embed.FS

// sizes is the number of rows of each table.
type sizes struct{ items, events, stock, accounts, bills, lines, customers, orders, tree int }

func sizesAt(scale float64) sizes {
	n := func(rows int) int { return max(100, int(float64(rows)*scale)) }
	return sizes{
		items: n(200_000), events: n(1_000_000), stock: n(200_000), accounts: n(20_000), bills: n(100_000),
		lines: n(200_000), customers: n(20_000), orders: n(100_000), tree: n(20_000),
	}
}

// newData returns the tables of the cases at a scale.
func newData(scale float64) (*comparison.Data, error) {
	tables, err := testdata.ReadFile("testdata/tables.sql")
	if err != nil {
		return nil, err
	}
	indexes, err := testdata.ReadFile("testdata/indexes.sql")
	if err != nil {
		return nil, err
	}
	s := sizesAt(scale)
	d := &comparison.Data{Definitions: string(tables), Indexes: string(indexes)}
	for i, t := range []struct {
		name string
		rows int
		row  func(w *bufio.Writer, r *rand.Rand, i int)
	}{
		{"items", s.items, s.item}, {"events", s.events, s.event}, {"stock", s.stock, writeStock},
		{"accounts", s.accounts, writeAccount}, {"bills", s.bills, s.bill}, {"bill_lines", s.lines, s.billLine},
		{"customers", s.customers, writeCustomer}, {"orders", s.orders, s.order}, {"regions", regions, writeRegion},
		{"groups", groups, writeGroup}, {"tree", s.tree, writeTree},
	} {
		d.Tables = append(d.Tables, comparison.Table{Name: t.name, Write: func(w *bufio.Writer) error {
			r := rand.New(rand.NewPCG(uint64(i), 18))
			for n := range t.rows {
				t.row(w, r, n)
			}
			return nil // a bufio.Writer keeps its error for Flush
		}})
	}
	return d, nil
}

const (
	regions = 20
	groups  = 200
)

var start = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// shuffled maps 0 to n-1 to themselves in another order.
func shuffled(i, n int) int {
	const prime = 7_368_787
	return int(int64(i) * prime % int64(n))
}

// moment returns a time of 2024, another one for each i below n.
func moment(i, n int) string {
	year := 366 * 24 * time.Hour
	return start.Add(time.Duration(shuffled(i, n)) * (year / time.Duration(n))).Truncate(time.Millisecond).
		Format("2006-01-02 15:04:05.000")
}

func (s sizes) item(w *bufio.Writer, r *rand.Rand, i int) {
	id, at := i+1, moment(i, s.items)
	status := "done"
	switch x := r.IntN(100); {
	case x < 1:
		status = "failed"
	case x < 3:
		status = "new"
	}
	flag, parent := "f", `\N`
	if r.IntN(100) == 0 {
		flag = "t"
	}
	if r.IntN(100) == 0 {
		parent = fmt.Sprint(1 + r.IntN(s.items))
	}
	val := float64(shuffled(i+3, s.items)) * 1000 / float64(s.items)
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s+00\t%s\t%g\t%d.%02d\tname-%06d\tUser%d@example.com\t",
		id, 1_000_000+id, shuffled(i, s.items)/10, r.IntN(2000), r.IntN(groups), status, flag, parent, at,
		moment(i+1, s.items+1), at[:10], val, r.IntN(1000), r.IntN(100), id, id)
	fmt.Fprintf(w, `{"City": "city %d", "Number": %d, "Tags": ["t%d", "u%d"], "Address": {"Zip": "%05d", `+
		`"Street": "street %d"}, "Paid": %t, "Note": "%s"}`+"\n", r.IntN(1000), i, r.IntN(500), r.IntN(10),
		r.IntN(20_000), r.IntN(300), r.IntN(10) > 0, padding(r, 40))
}

func (s sizes) event(w *bufio.Writer, r *rand.Rand, i int) {
	kind := "read"
	switch x := r.IntN(1000); {
	case x < 1:
		kind = "error"
	case x < 100:
		kind = "write"
	}
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%s\t%s\t%d.%02d\t%d\n", i+1, 1+shuffled(i, s.items), 1+r.IntN(s.items),
		1+r.IntN(s.accounts), kind, moment(i, s.events), r.IntN(1000), r.IntN(100), r.IntN(1_000_000))
}

func writeStock(w *bufio.Writer, r *rand.Rand, i int) {
	fmt.Fprintf(w, "%d\t%d\t%d\n", 1+i/2, i%2, r.IntN(100))
}

func writeAccount(w *bufio.Writer, r *rand.Rand, i int) {
	fmt.Fprintf(w, "%d\taccount %d\t%d\n", i+1, i+1, 1+r.IntN(regions))
}

func (s sizes) bill(w *bufio.Writer, r *rand.Rand, i int) {
	fmt.Fprintf(w, "%d\t%d\t%s\t%d.%02d\n", 1+i%s.accounts, 1+i/s.accounts, moment(i, s.bills), r.IntN(1000),
		r.IntN(100))
}

func (s sizes) billLine(w *bufio.Writer, r *rand.Rand, i int) {
	bill := i / 2
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d.%02d\n", 1+bill%s.accounts, 1+bill/s.accounts, 1+i%2, 1+r.IntN(s.items),
		r.IntN(100), r.IntN(100))
}

func writeCustomer(w *bufio.Writer, r *rand.Rand, i int) {
	fmt.Fprintf(w, "customers/%d\t"+`{"Name": "customer %d", "Region": %d, "Since": "20%02d-0%d-01"}`+"\n", i+1, i+1,
		1+r.IntN(regions), r.IntN(25), 1+r.IntN(9))
}

var statuses = []string{"new", "paid", "shipped", "returned"}

// order writes an order whose id names its customer, so that both are in one bucket.
func (s sizes) order(w *bufio.Writer, r *rand.Rand, i int) {
	customer := 1 + i%s.customers
	fmt.Fprintf(w, "orders/%d$customers/%d\t"+`{"Customer": "customers/%d", "Status": "%s", `+
		`"Total": %d.%02d, "At": "%s", "Lines": `+
		`[{"Product": "products/%d", "Quantity": %d}, {"Product": "products/%d", "Quantity": %d}]}`+"\n",
		i+1, customer, customer, statuses[r.IntN(len(statuses))], r.IntN(1000), r.IntN(100), moment(i, s.orders),
		r.IntN(500), 1+r.IntN(9), r.IntN(500), 1+r.IntN(9))
}

func writeRegion(w *bufio.Writer, _ *rand.Rand, i int) {
	fmt.Fprintf(w, "%d\tregion %d\tcontinent %d\n", i+1, i+1, i%5)
}

func writeGroup(w *bufio.Writer, r *rand.Rand, i int) {
	fmt.Fprintf(w, "%d\tgroup %d\t%d\n", i, i, 1+r.IntN(regions))
}

func writeTree(w *bufio.Writer, _ *rand.Rand, i int) {
	id := i + 1
	parent := `\N`
	if id > 1 {
		parent = fmt.Sprint(max(1, id/4))
	}
	fmt.Fprintf(w, "%d\t%s\tnode %d\n", id, parent, id)
}

const letters = "abcdefghijklmnopqrstuvwxyz     "

func padding(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}
