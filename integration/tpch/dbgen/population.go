package dbgen

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Population is the rows of a scale factor.
type Population struct {
	scale float64
	prose prose
}

// LeastScale is the smallest scale factor at which the formula of partsupp yields four suppliers of
// each part.
const LeastScale = 0.01

// New returns the population of a scale factor, which is at least LeastScale.
func New(scale float64) (*Population, error) {
	if scale < LeastScale {
		return nil, fmt.Errorf("scale factor %g is below %g", scale, LeastScale)
	}
	return &Population{scale, newProse()}, nil
}

// Tables returns the names of the tables, those that are referred to first.
func Tables() []string {
	return []string{"region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"}
}

// Write writes the rows of a table in the text format of COPY.
func (p *Population) Write(w *bufio.Writer, table string) error {
	switch table {
	case "region":
		p.each(len(regionNames), 1, func(r *rand.Rand, i int) { p.region(w, r, i) })
	case "nation":
		p.each(len(nations), 2, func(r *rand.Rand, i int) { p.nation(w, r, i) })
	case "supplier":
		p.writeSuppliers(w)
	case "customer":
		p.each(p.customers(), 4, func(r *rand.Rand, i int) { p.customer(w, r, i+1) })
	case "part":
		p.each(p.parts(), 5, func(r *rand.Rand, i int) { p.part(w, r, i+1) })
	case "partsupp":
		p.each(p.parts(), 6, func(r *rand.Rand, i int) { p.partSuppliers(w, r, i+1) })
	case "orders":
		p.each(p.orders(), ordersStream, func(r *rand.Rand, i int) { p.newOrder(r, i).write(w, p) })
	case "lineitem":
		p.each(p.orders(), ordersStream, func(r *rand.Rand, i int) { p.newOrder(r, i).writeLines(w, p) })
	default:
		return fmt.Errorf("TPC-H has no table %s", table)
	}
	return nil // a bufio.Writer keeps its error for Flush
}

// ordersStream is the seed of orders and of their lines, which are generated together.
const ordersStream = 7

// each calls row for 0 to n-1. Each row has random numbers of its own, so that it does not depend
// on the rows before.
func (p *Population) each(n int, stream uint64, row func(r *rand.Rand, i int)) {
	source := rand.NewPCG(0, 0)
	r := rand.New(source)
	for i := range n {
		source.Seed(stream, uint64(i)*0x9e3779b97f4a7c15)
		row(r, i)
	}
}

func (p *Population) rows(atOne int) int { return int(math.Round(p.scale * float64(atOne))) }
func (p *Population) suppliers() int     { return p.rows(10_000) }
func (p *Population) customers() int     { return p.rows(150_000) }
func (p *Population) parts() int         { return p.rows(200_000) }
func (p *Population) orders() int        { return p.rows(1_500_000) }
func (p *Population) clerks() int        { return p.rows(1_000) }

// between returns a number from least to most.
func between(r *rand.Rand, least, most int) int { return least + r.IntN(most-least+1) }

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ,"

// address returns a string of random characters.
func address(r *rand.Rand) string {
	b := make([]byte, between(r, 10, 40))
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func phone(r *rand.Rand, nation int) string {
	return fmt.Sprintf("%d-%d-%d-%d", nation+10, between(r, 100, 999), between(r, 100, 999), between(r, 1000, 9999))
}

// cents is an amount of money.
type cents int64

func (c cents) String() string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}

func balance(r *rand.Rand) cents { return cents(between(r, -999_99, 9999_99)) }

func (p *Population) region(w *bufio.Writer, r *rand.Rand, i int) {
	fmt.Fprintf(w, "%d\t%s\t%s\n", i, regionNames[i], p.prose.part(r, 31, 115))
}

func (p *Population) nation(w *bufio.Writer, r *rand.Rand, i int) {
	fmt.Fprintf(w, "%d\t%s\t%d\t%s\n", i, nations[i].name, nations[i].region, p.prose.part(r, 31, 114))
}

// writeSuppliers writes the suppliers. Five per scale factor have comments with complaints, and
// five with recommendations.
func (p *Population) writeSuppliers(w *bufio.Writer) {
	r := rand.New(rand.NewPCG(3, 0))
	order := r.Perm(p.suppliers())
	n := int(math.Ceil(p.scale * 5))
	remark := map[int]string{}
	for i, supplier := range order[:2*n] {
		remark[supplier] = "Complaints"
		if i >= n {
			remark[supplier] = "Recommends"
		}
	}
	p.each(p.suppliers(), 3, func(r *rand.Rand, i int) {
		nation, comment := r.IntN(len(nations)), p.prose.part(r, 25, 100)
		if remark[i] != "" {
			comment = withRemark(r, comment, "Customer", remark[i])
		}
		fmt.Fprintf(w, "%d\tSupplier#%09d\t%s\t%d\t%s\t%v\t%s\n", i+1, i+1, address(r), nation, phone(r, nation),
			balance(r), comment)
	})
}

// withRemark puts two words over a comment, with some of its text between them.
func withRemark(r *rand.Rand, comment, first, second string) string {
	b := []byte(comment)
	between := r.IntN(len(b) - len(first) - len(second))
	from := r.IntN(len(b) - len(first) - len(second) - between + 1)
	copy(b[from:], first)
	copy(b[from+len(first)+between:], second)
	return string(b)
}

func (p *Population) customer(w *bufio.Writer, r *rand.Rand, key int) {
	nation := r.IntN(len(nations))
	fmt.Fprintf(w, "%d\tCustomer#%09d\t%s\t%d\t%s\t%v\t%s\t%s\n", key, key, address(r), nation, phone(r, nation),
		balance(r), pick(r, segments), p.prose.part(r, 29, 116))
}

func (p *Population) part(w *bufio.Writer, r *rand.Rand, key int) {
	name := ""
	chosen := map[int]bool{}
	for len(chosen) < 5 {
		if c := r.IntN(len(colors)); !chosen[c] {
			chosen[c] = true
			name += " " + colors[c]
		}
	}
	maker := between(r, 1, 5)
	fmt.Fprintf(w, "%d\t%s\tManufacturer#%d\tBrand#%d%d\t%s %s %s\t%d\t%s %s\t%v\t%s\n", key, name[1:], maker, maker,
		between(r, 1, 5), pick(r, typeSizes), pick(r, typeFinishes), pick(r, typeMetals), between(r, 1, 50),
		pick(r, containerSizes), pick(r, containerKinds), retailPrice(key), p.prose.part(r, 5, 22))
}

func retailPrice(part int) cents { return cents(90_000 + part/10%20_001 + 100*(part%1_000)) }

// supplierOf returns the supplier 0 to 3 of a part.
func (p *Population) supplierOf(part, i int) int {
	s := p.suppliers()
	return (part+i*(s/4+(part-1)/s))%s + 1
}

func (p *Population) partSuppliers(w *bufio.Writer, r *rand.Rand, part int) {
	for i := range 4 {
		fmt.Fprintf(w, "%d\t%d\t%d\t%v\t%s\n", part, p.supplierOf(part, i), between(r, 1, 9_999),
			cents(between(r, 1_00, 1_000_00)), p.prose.part(r, 49, 198))
	}
}

var (
	firstOrder = time.Date(1992, 1, 1, 0, 0, 0, 0, time.UTC)
	lastOrder  = time.Date(1998, 8, 2, 0, 0, 0, 0, time.UTC) // 151 days before the end of 1998
	currently  = time.Date(1995, 6, 17, 0, 0, 0, 0, time.UTC)
	orderDays  = int(lastOrder.Sub(firstOrder)/(24*time.Hour)) + 1
)

// order is an order with its lines.
type order struct {
	r        *rand.Rand
	key      int
	customer int
	date     time.Time
	lines    []line
}

type line struct {
	part, supplier, quantity  int
	price                     cents
	discount, tax             int // percent
	shipped, commit, received time.Time
}

// open reports whether the line was not shipped at the current date.
func (l *line) open() bool { return l.shipped.After(currently) }

// newOrder returns the order of an index from 0. Of each 32 keys, the first eight are used. A third
// of the customers have no order.
func (p *Population) newOrder(r *rand.Rand, i int) *order {
	o := &order{r: r, key: i/8*32 + i%8 + 1}
	for o.customer%3 == 0 {
		o.customer = between(r, 1, p.customers())
	}
	o.date = firstOrder.AddDate(0, 0, r.IntN(orderDays))
	for range between(r, 1, 7) {
		l := line{part: between(r, 1, p.parts()), quantity: between(r, 1, 50), discount: r.IntN(11), tax: r.IntN(9)}
		l.supplier = p.supplierOf(l.part, r.IntN(4))
		l.price = cents(l.quantity) * retailPrice(l.part)
		l.shipped = o.date.AddDate(0, 0, between(r, 1, 121))
		l.commit = o.date.AddDate(0, 0, between(r, 30, 90))
		l.received = l.shipped.AddDate(0, 0, between(r, 1, 30))
		o.lines = append(o.lines, l)
	}
	return o
}

// total returns the sum of the lines' prices, less discount and with tax.
func (o *order) total() (sum cents) {
	for _, l := range o.lines {
		sum += l.price * cents(100-l.discount) / 100 * cents(100+l.tax) / 100
	}
	return sum
}

func (o *order) status() string {
	open := 0
	for i := range o.lines {
		if o.lines[i].open() {
			open++
		}
	}
	switch open {
	case 0:
		return "F"
	case len(o.lines):
		return "O"
	}
	return "P"
}

func (o *order) write(w *bufio.Writer, p *Population) {
	fmt.Fprintf(w, "%d\t%d\t%s\t%v\t%s\t%s\tClerk#%09d\t0\t%s\n", o.key, o.customer, o.status(), o.total(),
		o.date.Format(time.DateOnly), pick(o.r, priorities), between(o.r, 1, max(1, p.clerks())),
		p.prose.part(o.r, 19, 78))
}

func (o *order) writeLines(w *bufio.Writer, p *Population) {
	for i, l := range o.lines {
		returned, status := "N", "F"
		if !l.received.After(currently) {
			returned = pick(o.r, []string{"R", "A"})
		}
		if l.open() {
			status = "O"
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%v\t%v\t%v\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.key, l.part, l.supplier,
			i+1, l.quantity, l.price, cents(l.discount), cents(l.tax), returned, status,
			l.shipped.Format(time.DateOnly), l.commit.Format(time.DateOnly), l.received.Format(time.DateOnly),
			pick(o.r, instructions), pick(o.r, modes), p.prose.part(o.r, 10, 43))
	}
}
