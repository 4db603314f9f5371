package statistics

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// MaxSize is the largest encoding of a table's statistics, in bytes.
const MaxSize = 32 << 10

// Format is the first byte of an encoding. It is durable: a new form gets a new number.
//
//	4 · the rest of 3 · n, then n statistics objects:
//	    OID · members: k, then k of: index · position · type ·
//	    combinations: n, then n of: members(1) · distinct(8) ·
//	    dependencies: n, then n of: members(1) · position of the other · degree(8) ·
//	    common rows: n, then n of: share(8) · share of independent members(8) ·
//	        if n is not 0: length, a row of all values of all rows (types.AppendRow)
//	3 · counters: n, then n of: fragment · storage id · term · rows, · the rest of 2
//	2 · runs: manual count · manual last(8) · automatic count · automatic last(8) · the rest of 1
//	1 · rows(8) · bytes(8) · analyzed(8) · analyzed rows(8) ·
//	n, then n columns:
//	    index · position · type · null share(4) · width(4) · distinct(8) ·
//	    flags(1; 1: a correlation follows) [correlation(4)] ·
//	    common values: k, k shares(4), length, a row of k values (types.AppendRow) ·
//	    bounds: k, length, a row of k values
//
// Numbers of fixed size are little endian, floats are IEEE, times are microseconds since 1970, 0 is
// none; all others are uvarints.
const Format = 4

// Earlier formats. A table in plainFormat, which has no runs, was analyzed once, by a client.
const (
	plainFormat    = 1
	runsFormat     = 2
	countersFormat = 3
)

const flagOrdered = 1

var errDamaged = pgerr.New(pgerr.DataCorrupted, "stored statistics are damaged")

// Encode returns the stored form of a table's statistics. If it were larger than MaxSize, the
// columns and statistics objects with the longest lists lose the less common half of their values and
// every second bound.
func (t *Table) Encode() []byte {
	columns, together := slices.Clone(t.Columns), slices.Clone(t.Together)
	parts := make([]part, 0, len(columns)+len(together))
	for i := range columns {
		parts = append(parts, newPart(&columns[i], false))
	}
	for i := range together {
		parts = append(parts, newPart(&together[i], true))
	}
	out := appendCounters([]byte{Format}, t.Written)
	parts = fit(parts, MaxSize-headSize-len(out))
	out = appendRuns(appendRuns(out, t.Manual), t.Automatic)
	out = appendFloat(out, t.Rows)
	out = appendFloat(out, t.Bytes)
	out = appendTime(out, t.Analyzed)
	out = appendFloat(out, t.AnalyzedRows)
	for _, several := range []bool{false, true} {
		n, list := 0, []byte(nil)
		for _, p := range parts {
			if p.several == several {
				n++
				list = append(list, p.encoded...)
			}
		}
		out = append(binary.AppendUvarint(out, uint64(n)), list...)
	}
	return out
}

// part is a column, or a statistics object if several is set, with its encoding.
type part struct {
	of      shrinker
	several bool
	encoded []byte
}

// shrinker is a column or a statistics object.
type shrinker interface {
	encode(b []byte) []byte
	// shrink leaves out a part of the lists, and reports whether there was any.
	shrink() bool
}

func newPart(of shrinker, several bool) part { return part{of, several, of.encode(nil)} }

// fit shrinks the longest parts until all of them have at most a number of bytes.
func fit(parts []part, most int) []part {
	total := 0
	for i := range parts {
		total += len(parts[i].encoded)
	}
	for total > most {
		at := 0
		for i := range parts {
			if len(parts[i].encoded) > len(parts[at].encoded) {
				at = i
			}
		}
		total -= len(parts[at].encoded)
		if !parts[at].of.shrink() { // nothing is left to leave out but the whole
			parts = slices.Delete(parts, at, at+1)
			continue
		}
		parts[at].encoded = parts[at].of.encode(nil)
		total += len(parts[at].encoded)
	}
	return parts
}

// headSize bounds the bytes between the counters and the columns, and the numbers of both lists.
const headSize = 6*8 + 4*binary.MaxVarintLen64

// shrink halves the lists of c, and reports whether that left anything out.
func (c *Column) shrink() bool {
	if len(c.Common) == 0 && len(c.Bounds) == 0 {
		return false
	}
	common := c.Common[:len(c.Common)/2]
	c.Common = slices.Clone(common)
	if len(c.Bounds) <= 2 {
		c.Bounds = nil
		return true
	}
	var bounds []types.Datum
	for i := 0; i < len(c.Bounds)-1; i += 2 {
		bounds = append(bounds, c.Bounds[i])
	}
	c.Bounds = append(bounds, c.Bounds[len(c.Bounds)-1])
	return true
}

func (c *Column) encode(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(c.Index))
	b = binary.AppendUvarint(b, uint64(uint16(c.Position)))
	b = binary.AppendUvarint(b, uint64(c.Type))
	b = appendFloat32(b, c.NullFrac)
	b = appendFloat32(b, c.Width)
	b = appendFloat(b, c.Distinct)
	if c.Ordered {
		b = appendFloat32(append(b, flagOrdered), c.Correlation)
	} else {
		b = append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Common)))
	values := make([]types.Datum, len(c.Common))
	for i, v := range c.Common {
		b = appendFloat32(b, v.Frac)
		values[i] = v.Value
	}
	b = appendValues(b, values)
	return appendValues(binary.AppendUvarint(b, uint64(len(c.Bounds))), c.Bounds)
}

func (x *Extended) encode(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(x.Object))
	b = binary.AppendUvarint(b, uint64(len(x.Members)))
	for _, m := range x.Members {
		b = binary.AppendUvarint(b, uint64(m.Index))
		b = binary.AppendUvarint(b, uint64(uint16(m.Position)))
		b = binary.AppendUvarint(b, uint64(m.Type))
	}
	b = binary.AppendUvarint(b, uint64(len(x.Combinations)))
	for _, c := range x.Combinations {
		b = appendFloat(append(b, byte(c.Members)), c.Distinct)
	}
	b = binary.AppendUvarint(b, uint64(len(x.Dependencies)))
	for _, d := range x.Dependencies {
		b = appendFloat(append(b, byte(d.From), byte(d.To)), d.Degree)
	}
	b = binary.AppendUvarint(b, uint64(len(x.Common)))
	var values []types.Datum
	for _, c := range x.Common {
		b = appendFloat(appendFloat(b, c.Frac), c.Base)
		values = append(values, c.Values...)
	}
	return appendValues(b, values)
}

func appendValues(b []byte, values []types.Datum) []byte {
	if len(values) == 0 {
		return b
	}
	row := types.AppendRow(nil, values)
	return append(binary.AppendUvarint(b, uint64(len(row))), row...)
}

// maxCounters bounds the counters that are stored. Of more, none is.
const maxCounters = 1000

func appendCounters(b []byte, list []Counter) []byte {
	if len(list) > maxCounters {
		list = nil
	}
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, c := range list {
		b = binary.AppendUvarint(b, uint64(c.Fragment))
		b = binary.AppendUvarint(b, uint64(c.Storage))
		b = binary.AppendUvarint(b, c.Term)
		b = binary.AppendUvarint(b, uint64(c.Rows))
	}
	return b
}

func appendRuns(b []byte, r Runs) []byte {
	return appendTime(binary.AppendUvarint(b, uint64(r.Count)), r.Last)
}

func appendTime(b []byte, t time.Time) []byte {
	var micros int64
	if !t.IsZero() {
		micros = t.UnixMicro()
	}
	return binary.LittleEndian.AppendUint64(b, uint64(micros))
}

func appendFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}

func appendFloat32(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
}

// Decode reads what Encode wrote, in this release or an earlier one.
func Decode(b []byte) (*Table, error) {
	r := &reader{b: b}
	t, err := r.head()
	if err != nil {
		return nil, err
	}
	n := r.count()
	for i := 0; i < n && !r.failed; i++ {
		c := r.column()
		if i > 0 && t.Columns[i-1].Key.compare(c.Key) >= 0 {
			r.failed = true
		}
		t.Columns = append(t.Columns, c)
	}
	n = 0
	if b[0] >= Format {
		n = r.count()
	}
	for i := 0; i < n && !r.failed; i++ {
		x := r.extended()
		if i > 0 && t.Together[i-1].Object >= x.Object {
			r.failed = true
		}
		t.Together = append(t.Together, x)
	}
	if r.failed || len(r.b) > 0 {
		return nil, errDamaged
	}
	return t, nil
}

// DecodeHead is Decode without the columns, which take most of the time.
func DecodeHead(b []byte) (*Table, error) {
	r := &reader{b: b}
	t, err := r.head()
	if r.failed {
		return nil, errDamaged
	}
	return t, err
}

// reader reads an encoding. After damage, it returns zeros.
type reader struct {
	b      []byte
	failed bool
}

// head reads what comes before the columns.
func (r *reader) head() (*Table, error) {
	format, t := r.byte(), &Table{}
	switch format {
	case plainFormat:
	case Format, countersFormat:
		t.Written = r.counters()
		fallthrough
	case runsFormat:
		t.Manual, t.Automatic = r.runs(), r.runs()
	default:
		return nil, errDamaged
	}
	t.Rows, t.Bytes, t.Analyzed, t.AnalyzedRows = r.float(), r.float(), r.time(), r.float()
	if format == plainFormat && !t.Analyzed.IsZero() {
		t.Manual = Runs{1, t.Analyzed}
	}
	return t, nil
}

func (r *reader) take(n int) []byte {
	if r.failed || n > len(r.b) {
		r.failed, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) counters() (out []Counter) {
	for range min(r.count(), maxCounters) {
		out = append(out, Counter{
			Fragment: uint32(r.uvarint(math.MaxUint32)), Storage: uint32(r.uvarint(math.MaxUint32)),
			Term: r.uvarint(math.MaxUint64), Rows: int64(r.uvarint(math.MaxInt64)),
		})
	}
	return out
}

func (r *reader) runs() Runs { return Runs{int64(r.uvarint(math.MaxInt64)), r.time()} }

func (r *reader) time() time.Time {
	if at := int64(r.uint64()); at != 0 {
		return time.UnixMicro(at).UTC()
	}
	return time.Time{}
}

func (r *reader) float() float64 { return r.finite(math.Float64frombits(r.uint64())) }

func (r *reader) float32() float64 {
	if b := r.take(4); b != nil {
		return r.finite(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	}
	return 0
}

func (r *reader) finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.failed = true
		return 0
	}
	return f
}

// count reads a number of things that take at least a byte each.
func (r *reader) count() int {
	n := r.uvarint(math.MaxInt32)
	if n > uint64(len(r.b)) {
		r.failed = true
		return 0
	}
	return int(n)
}

func (r *reader) uvarint(limit uint64) uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > limit {
		r.failed, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) column() Column {
	c := Column{
		Key:  Key{uint32(r.uvarint(math.MaxUint32)), int16(r.uvarint(math.MaxUint16))},
		Type: types.OID(r.uvarint(math.MaxUint32)), NullFrac: r.float32(), Width: r.float32(), Distinct: r.float(),
	}
	switch r.byte() {
	case 0:
	case flagOrdered:
		c.Ordered, c.Correlation = true, r.float32()
	default:
		r.failed = true
	}
	n := r.count()
	shares := make([]float64, n)
	for i := range shares {
		shares[i] = r.float32()
	}
	of := func(int) types.OID { return c.Type }
	for i, d := range r.values(n, of) {
		if d.IsNull() {
			r.failed = true
		}
		c.Common = append(c.Common, Value{d, shares[i]})
	}
	if c.Bounds = r.values(r.count(), of); len(c.Bounds) == 1 || slices.ContainsFunc(c.Bounds, types.Datum.IsNull) {
		r.failed = true
	}
	return c
}

func (r *reader) extended() Extended {
	x := Extended{Object: uint32(r.uvarint(math.MaxUint32))}
	for range r.count() {
		x.Members = append(x.Members, Member{
			Key{uint32(r.uvarint(math.MaxUint32)), int16(r.uvarint(math.MaxUint16))},
			types.OID(r.uvarint(math.MaxUint32)),
		})
	}
	members := len(x.Members)
	if members == 0 || members > maxMembers {
		r.failed = true
		return x
	}
	for range r.count() {
		x.Combinations = append(x.Combinations, Combination{r.set(members), r.float()})
	}
	for range r.count() {
		d := Dependency{r.set(members), int(r.byte()), r.float()}
		r.failed = r.failed || d.To >= members
		x.Dependencies = append(x.Dependencies, d)
	}
	n := r.count()
	for range n {
		x.Common = append(x.Common, CommonRow{Frac: r.float(), Base: r.float()})
	}
	values := r.values(n*members, func(i int) types.OID { return x.Members[i%members].Type })
	for i := 0; i < n && !r.failed; i++ {
		x.Common[i].Values = values[i*members : (i+1)*members : (i+1)*members]
	}
	return x
}

// maxMembers is how many members a statistics object has at most.
const maxMembers = 8

func (r *reader) set(members int) Set {
	s := Set(r.byte())
	r.failed = r.failed || int(s)>>members != 0
	return s
}

// values reads n values, which may be null, of the types that of returns.
func (r *reader) values(n int, of func(i int) types.OID) []types.Datum {
	if n == 0 || r.failed {
		return nil
	}
	var row types.RowReader
	if err := row.ResetString(string(r.take(r.count()))); err != nil || row.Len() != n {
		r.failed = true
		return nil
	}
	out := make([]types.Datum, n)
	for i := range out {
		kind := types.KindOf(of(i))
		d, _, err := row.Column(i, kind)
		if err != nil || kind == types.KindNull {
			r.failed = true
			return nil
		}
		out[i] = d
	}
	return out
}
