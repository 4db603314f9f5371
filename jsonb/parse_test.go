package jsonb

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

func mustParse(t testing.TB, text string) Doc {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return d
}

// TestFormat is the golden list of the binary form (V1): a change here is a new format.
func TestFormat(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct{ text, binary string }{
		{`null`, "\x10"},
		{`false`, "\x11"},
		{`true`, "\x12"},
		{`-12.50`, "\x13-12.50"},
		{`1e2`, "\x13100"},
		{`"\u00e9\n"`, "\x14é\n"},
		{`[]`, "\x18\x00"},
		{`{}`, "\x1c\x00"},
		{`[1, [true]]`, "\x18\x02\x02\x06" + "\x131" + "\x18\x01\x01\x12"},
		{`{"bb":1, "a":null, "b":"x", "a":2}`,
			"\x1c\x03" + "\x01\x02\x04" + "\x02\x04\x06" + "abbb" + "\x132" + "\x14x" + "\x131"},
		{`["` + long + `"]`, "\x19\x01\x00\x2d\x01" + "\x14" + long},
		{`{"` + long + `":0}`, "\x1d\x01\x00\x2c\x01\x02\x00" + long + "\x130"},
		{`["` + strings.Repeat(long, 300) + `"]`,
			"\x1a\x01\x00\x00\x00\x91\x5f\x01\x00" + "\x14" + strings.Repeat(long, 300)},
	} {
		d := mustParse(t, c.text)
		if string(d) != c.binary {
			t.Errorf("%.40s: %q, want %q", c.text, d, c.binary)
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%.40s: %v", c.text, err)
		}
	}
}

func TestDepth(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	d := mustParse(t, nest(MaxDepth))
	if got := d.Text(); got != nest(MaxDepth) {
		t.Errorf("text of %d levels differs", MaxDepth)
	}
	for _, text := range []string{
		nest(MaxDepth + 1), strings.Repeat("[", 5_000_000), strings.Repeat(`{"a":`, 1_000_000),
	} {
		if _, err := Parse(text); !pgerr.Is(err, pgerr.StatementTooComplex) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
		if err := ValidateJSON(text); !pgerr.Is(err, pgerr.StatementTooComplex) {
			t.Errorf("%d bytes as json: %v", len(text), err)
		}
	}
	var b Builder
	b.BeginArray()
	b.Doc(d)
	b.End()
	if _, err := b.Finish(); !pgerr.Is(err, pgerr.StatementTooComplex) {
		t.Errorf("embedding: %v", err)
	}
}

func TestBuilder(t *testing.T) {
	var b Builder
	b.BeginObject()
	b.Key("n")
	b.Int(-5)
	b.Key("list")
	b.BeginArray()
	b.Null()
	b.Bool(true)
	b.Float(1.5e300)
	b.Float(0.1)
	b.Number("1.50e1")
	b.Str("a\"b")
	b.Doc(EmptyObject)
	b.End()
	b.Key("n")
	b.Int(6)
	b.End()
	d, err := b.Finish()
	want := `{"n": 6, "list": [null, true, 15` + strings.Repeat("0", 299) + `, 0.1, 15.0, "a\"b", {}]}`
	if err != nil || d.Text() != want || d.Validate() != nil {
		t.Fatalf("%v %s", err, d.Text())
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2,{"b":null}],"c":"\u00e9"}`, `[1e5,-0.0,"\ud83d\ude00"]`, `{"a":1,`, `"\ud83d"`, `1e-999`, "nulll",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			if pgerr.Code(err) == pgerr.InvalidTextRepresentation && pgerr.From(err).Detail == "" {
				t.Fatalf("%q: the two parsers disagree", text)
			}
			return
		}
		if err := ValidateJSON(text); err != nil {
			t.Fatalf("jsonb but not json: %v", err)
		}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(d.Text())
		if err != nil || again != d {
			t.Fatalf("%s is not read back: %v", d.Text(), err)
		}
	})
}

func FuzzDamaged(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2,{"b":null}],"c":"x"}`, `[[1],[2,3],"` + strings.Repeat("y", 300) + `"]`, `1.5`,
	} {
		d, _ := Parse(s)
		f.Add([]byte(d))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := FromBytes(b)
		valid := d.Validate() == nil
		text := d.Text()
		if valid {
			if again, err := Parse(text); err != nil || again != d {
				t.Fatalf("valid %q prints %s, which reads %q (%v)", b, text, again, err)
			}
		}
		_, _ = d.Pretty(nil)
		_ = Compare(d, NullDoc)
		_ = Equal(d, FromBytes(append([]byte(nil), b...)))
		_ = d.Hash()
		_, _ = Concat(d, d)
		_, _ = d.Set(Steps("a", "1"), d, true)
		_, _ = d.Assign([]string{"a", "1", "b"}, false, d)
		_, _ = d.DeletePath(Steps("0", "a"))
		_, _ = d.DeleteKey("a")
		_, _ = d.DeleteIndex(-1)
		_, _ = d.StripNulls()
		_ = d.Contains(d)
		_ = d.Has("a")
		d.Get("a")
		d.Index(-1)
		d.Path("a", "1", "b")
		d.Int64()
		d.Float64()
	})
}

// sample is a document of roughly n bytes of text.
func sample(n int) string {
	var b strings.Builder
	b.WriteString(`{"customer":{"name":"Ann Example","id":"customers/1-A"},"status":"shipped","total":199.90,"lines":[`)
	for i := 0; b.Len() < n-100; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"sku":"SKU-%d","qty":%d,"price":%d.50,"note":"caf\u00e9"}`, i, i%7, i)
	}
	b.WriteString(`],"paid":true,"at":"2024-05-01T10:00:00Z","region":"eu","tags":["a","b"]}`)
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{250, 1000, 10000} {
		text := sample(n)
		b.Run(fmt.Sprint(len(text)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Parse(text)
			}
		})
	}
}

func BenchmarkText(b *testing.B) {
	for _, n := range []int{250, 10000} {
		d, _ := Parse(sample(n))
		buf := make([]byte, 0, 20000)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				buf = d.AppendText(buf[:0])
			}
		})
	}
}

func BenchmarkField(b *testing.B) {
	for _, n := range []int{250, 10000} {
		d, _ := Parse(sample(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = d.GetText("status")
			}
		})
		b.Run(fmt.Sprint("path/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = d.PathText("customer", "id")
			}
		})
	}
}

// TestParseUntil reads and prints a long document: both call the check once in a megabyte, and end
// with its error.
func TestParseUntil(t *testing.T) {
	text := "[" + strings.Repeat(`{"a": 1234567},`, 1<<18) + "1]"
	stop, calls, allowed := errors.New("stopped by the test"), 0, 1<<30
	check := func() error {
		if calls++; calls > allowed {
			return stop
		}
		return nil
	}
	d, err := ParseUntil(text, check)
	if err != nil || calls < 3 {
		t.Errorf("parsed with %d calls, %v", calls, err)
	}
	calls = 0
	if _, err = d.Pretty(check); err != nil || calls < 3 {
		t.Errorf("printed with %d calls, %v", calls, err)
	}
	calls, allowed = 0, 1
	if _, err = ParseUntil(text, check); err != stop {
		t.Errorf("parsed until stopped: got %v", err)
	}
	calls = 0
	if _, err = d.Pretty(check); err != stop {
		t.Errorf("printed until stopped: got %v", err)
	}
}
