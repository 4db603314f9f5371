package dbgen

import (
	"bufio"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// table is the rows of a table as texts.
type table struct {
	t    *testing.T
	rows [][]string
}

func generate(t *testing.T, p *Population, name string) *table {
	t.Helper()
	var b strings.Builder
	w := bufio.NewWriter(&b)
	if err := p.Write(w, name); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	out := &table{t: t}
	for line := range strings.Lines(b.String()) {
		out.rows = append(out.rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return out
}

// number returns a value as a number.
func (x *table) number(row []string, column int) float64 {
	x.t.Helper()
	f, err := strconv.ParseFloat(row[column], 64)
	if err != nil {
		x.t.Fatal(row, err)
	}
	return f
}

// within checks that the values of a column are from least to most, and that their mean is in the
// middle, as it is for equally distributed values.
func (x *table) within(column int, least, most float64) {
	x.t.Helper()
	sum := 0.0
	for _, row := range x.rows {
		v := x.number(row, column)
		if v < least || v > most {
			x.t.Errorf("column %d has %v, not from %v to %v", column, v, least, most)
			return
		}
		sum += v
	}
	mean, middle := sum/float64(len(x.rows)), (least+most)/2
	if math.Abs(mean-middle) > (most-least)*0.6/math.Sqrt(float64(len(x.rows)))*3 {
		x.t.Errorf("column %d has the mean %v, not %v", column, mean, middle)
	}
}

// distinct checks how many values a column has.
func (x *table) distinct(column, want int) {
	x.t.Helper()
	seen := map[string]bool{}
	for _, row := range x.rows {
		seen[row[column]] = true
	}
	if len(seen) != want {
		x.t.Errorf("column %d has %d values, not %d", column, len(seen), want)
	}
}

// length checks the lengths of a column's values.
func (x *table) length(column, least, most int) {
	x.t.Helper()
	for _, row := range x.rows {
		if n := len(row[column]); n < least || n > most {
			x.t.Errorf("column %d has %q, not of %d to %d bytes", column, row[column], least, most)
			return
		}
	}
}

// share returns the share of the rows for which a condition holds.
func (x *table) share(holds func(row []string) bool) float64 {
	n := 0
	for _, row := range x.rows {
		if holds(row) {
			n++
		}
	}
	return float64(n) / float64(len(x.rows))
}

func (x *table) has(share, least, most float64, what string) {
	x.t.Helper()
	if share < least || share > most {
		x.t.Errorf("%s: %.4f of the rows, not %v to %v", what, share, least, most)
	}
}

func newPopulation(t *testing.T) *Population {
	p, err := New(LeastScale)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCardinalities(t *testing.T) {
	p := newPopulation(t)
	for name, want := range map[string]int{
		"region": 5, "nation": 25, "supplier": 100, "customer": 1500, "part": 2000, "partsupp": 8000, "orders": 15000,
	} {
		if n := len(generate(t, p, name).rows); n != want {
			t.Errorf("%s has %d rows, not %d", name, n, want)
		}
	}
	if n := len(generate(t, p, "lineitem").rows); n < 59_000 || n > 61_000 {
		t.Errorf("lineitem has %d rows", n)
	}
	if _, err := New(LeastScale / 2); err == nil {
		t.Error("a scale factor below the least is accepted")
	}
	if p.Write(nil, "lines") == nil {
		t.Error("there is no table lines")
	}
}

func TestSupplier(t *testing.T) {
	x := generate(t, newPopulation(t), "supplier")
	x.length(2, 10, 40)
	x.within(3, 0, 24)
	x.within(5, -999.99, 9999.99)
	x.length(6, 25, 100)
	for _, words := range [][2]string{{"Customer", "Complaints"}, {"Customer", "Recommends"}} {
		share := x.share(func(row []string) bool {
			_, after, ok := strings.Cut(row[6], words[0])
			return ok && strings.Contains(after, words[1])
		})
		x.has(share, 0.01, 0.01, words[1])
	}
	for _, row := range x.rows {
		if country, _, _ := strings.Cut(row[4], "-"); country != strconv.Itoa(int(x.number(row, 3))+10) {
			t.Errorf("nation %s has phone %s", row[3], row[4])
		}
	}
}

func TestCustomer(t *testing.T) {
	x := generate(t, newPopulation(t), "customer")
	x.distinct(0, 1500)
	x.within(3, 0, 24)
	x.distinct(6, 5)
	x.length(7, 29, 116)
	if got := x.rows[16][1]; got != "Customer#000000017" {
		t.Error(got)
	}
}

func TestPart(t *testing.T) {
	x := generate(t, newPopulation(t), "part")
	x.distinct(2, 5)
	x.distinct(3, 25)
	x.distinct(4, 150)
	x.within(5, 1, 50)
	x.distinct(6, 40)
	x.length(8, 5, 22)
	for _, row := range x.rows {
		words := map[string]bool{}
		for _, w := range strings.Fields(row[1]) {
			words[w] = true
		}
		if len(words) != 5 || row[3][len("Brand#")] != row[2][len("Manufacturer#")] {
			t.Fatal(row)
		}
	}
	for key, want := range map[int]string{1: "901.00", 17: "917.01", 1999: "1900.99"} {
		if got := x.rows[key-1][7]; got != want {
			t.Errorf("part %d costs %s, not %s", key, got, want)
		}
	}
	// Queries 9 and 20 look for a colour in one of five words, and in the first one.
	x.has(x.share(func(row []string) bool { return strings.Contains(row[1], "green") }), 0.03, 0.08, "green")
	x.has(x.share(func(row []string) bool { return strings.HasPrefix(row[1], "forest") }), 0.004, 0.02, "forest")
}

func TestPartSuppliers(t *testing.T) {
	x := generate(t, newPopulation(t), "partsupp")
	x.within(1, 1, 100)
	x.within(2, 1, 9999)
	x.within(3, 1, 1000)
	x.length(4, 49, 198)
	seen := map[string]bool{}
	for _, row := range x.rows {
		seen[row[0]+" "+row[1]] = true
	}
	if len(seen) != len(x.rows) {
		t.Errorf("%d keys in %d rows", len(seen), len(x.rows))
	}
	// The formula of the specification: (p + i * (S/4 + (p-1)/S)) modulo S + 1.
	if got := x.rows[4*1700+2][1]; got != strconv.Itoa((1701+2*(25+17))%100+1) {
		t.Errorf("supplier 2 of part 1701 is %s", got)
	}
}

func TestOrders(t *testing.T) {
	x := generate(t, newPopulation(t), "orders")
	x.distinct(0, 15000)
	x.distinct(5, 5)
	x.length(8, 19, 78)
	last := ""
	for i, row := range x.rows {
		if key := int(x.number(row, 0)); (key-1)%32 > 7 || int(x.number(row, 1))%3 == 0 {
			t.Fatal(row)
		}
		if i%1000 == 0 && (row[4] < "1992-01-01" || row[4] > "1998-08-02") {
			t.Error(row[4])
		}
		last = max(last, row[4])
	}
	if last != "1998-08-02" {
		t.Error(last)
	}
	for status, share := range map[string]float64{"F": 0.49, "O": 0.49, "P": 0.025} {
		x.has(x.share(func(row []string) bool { return row[2] == status }), share-0.02, share+0.02, status)
	}
	share := x.share(func(row []string) bool {
		_, after, ok := strings.Cut(row[8], "special")
		return ok && strings.Contains(after, "requests")
	})
	x.has(share, 0.004, 0.03, "special requests")
}

func TestLineItem(t *testing.T) {
	p := newPopulation(t)
	x := generate(t, p, "lineitem")
	x.within(1, 1, 2000)
	x.within(4, 1, 50)
	x.within(6, 0, 0.10)
	x.within(7, 0, 0.08)
	x.distinct(13, 4)
	x.distinct(14, 7)
	x.length(15, 10, 43)
	totals, dates := map[string]float64{}, map[string]string{}
	orders := generate(t, p, "orders")
	for _, row := range orders.rows {
		totals[row[0]], dates[row[0]] = orders.number(row, 3), row[4]
	}
	for _, row := range x.rows {
		price := x.number(row, 4) * float64(retailPrice(int(x.number(row, 1)))) / 100
		if math.Abs(x.number(row, 5)-price) > 0.001 {
			t.Fatalf("price %s, not %f", row[5], price)
		}
		totals[row[0]] -= x.number(row, 5) * (1 - x.number(row, 6)) * (1 + x.number(row, 7))
		checkDates(t, row, dates[row[0]])
	}
	for key, rest := range totals {
		if math.Abs(rest) > 0.15 { // each line is rounded to a cent, twice
			t.Errorf("order %s: the lines differ from the total by %f", key, rest)
		}
	}
	x.has(x.share(func(row []string) bool { return row[8] == "N" }), 0.49, 0.52, "not returned")
	x.has(x.share(func(row []string) bool { return row[8] == "R" }), 0.23, 0.26, "returned")
	// Query 1 reads 98 % of the lines.
	x.has(x.share(func(row []string) bool { return row[10] <= "1998-09-02" }), 0.97, 0.995, "shipped")
}

// checkDates checks the dates of a line against the date of its order, and the flags that depend on
// them.
func checkDates(t *testing.T, row []string, ordered string) {
	t.Helper()
	days := func(from, to string) int {
		a, err := time.Parse(time.DateOnly, from)
		if err != nil {
			t.Fatal(err)
		}
		b, err := time.Parse(time.DateOnly, to)
		if err != nil {
			t.Fatal(err)
		}
		return int(b.Sub(a) / (24 * time.Hour))
	}
	shipped, commit, received := row[10], row[11], row[12]
	s, c, r := days(ordered, shipped), days(ordered, commit), days(shipped, received)
	if s < 1 || s > 121 || c < 30 || c > 90 || r < 1 || r > 30 {
		t.Fatalf("ordered %s: %v", ordered, row)
	}
	if (row[8] == "N") != (received > "1995-06-17") || (row[9] == "O") != (shipped > "1995-06-17") {
		t.Fatal(row)
	}
}
