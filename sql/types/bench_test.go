package types

import "testing"

func BenchmarkRowColumnJSONB(b *testing.B) {
	text := `{"Customer":"customers/1-A","Total":12.5,"Lines":[{"Sku":"a","Qty":1},{"Sku":"b","Qty":2}]}`
	doc := sample{JSONB, text}.datum(b)
	stored := AppendRow(nil, Row{NewText("orders/1-A"), doc})
	var r RowReader
	b.ReportAllocs()
	for b.Loop() {
		if r.Reset(stored) != nil {
			b.Fatal()
		}
		if d, _, _ := r.Column(1, KindJSONB); d.S == "" {
			b.Fatal()
		}
	}
}

func BenchmarkRowAppend(b *testing.B) {
	row := Row{NewInt(1), NewText("orders/1-A"), NewNumeric(1250, 2), NewFloat8(1.5), Null}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendRow(buf[:0], row)
	}
}

func BenchmarkCompareInt(b *testing.B) {
	cmp, x, y := Comparer(Int8), NewInt(1), NewInt(2)
	for b.Loop() {
		cmp(x, y)
	}
}

func BenchmarkCompareText(b *testing.B) {
	cmp, x, y := Comparer(Text), NewText("orders/1-A"), NewText("orders/1-B")
	for b.Loop() {
		cmp(x, y)
	}
}

func BenchmarkNumericAdd(b *testing.B) {
	x, y := NewNumeric(12345, 2), NewNumeric(678, 2)
	for b.Loop() {
		x, _ = NumericAdd(x, y)
		x.N &= 0xffffff
	}
}

func BenchmarkNumericMul(b *testing.B) {
	x, y := NewNumeric(12345, 2), NewNumeric(678, 2)
	for b.Loop() {
		NumericMul(x, y)
	}
}

func BenchmarkInt8Output(b *testing.B) {
	d := NewInt(1234567890)
	var buf []byte
	for b.Loop() {
		buf = AppendOutput(buf[:0], Int8, d, nil)
	}
}

func BenchmarkTimestampInput(b *testing.B) {
	for b.Loop() {
		Input(Timestamp, -1, "2004-10-19 10:23:54", nil)
	}
}

func BenchmarkTimestampTZInput(b *testing.B) {
	for b.Loop() {
		Input(TimestampTZ, -1, "2004-10-19 10:23:54.123+02", nil)
	}
}

func BenchmarkKeyText(b *testing.B) {
	d := NewText("orders/1-A")
	var buf []byte
	for b.Loop() {
		buf = AppendKey(buf[:0], Text, d, false)
	}
}

func BenchmarkNumericSum(b *testing.B) {
	var s NumericSum
	d := NewNumeric(12345, 2)
	for b.Loop() {
		s.Add(d)
	}
}
