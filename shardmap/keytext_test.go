package shardmap

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "fill in texts and buckets of new vectors in the golden files")

// keyVector freezes the text and bucket of a key value: value is what PostgreSQL prints for it.
type keyVector struct {
	Type   string `json:"type"`
	Value  string `json:"value"`
	Text   string `json:"text"`
	Bucket Bucket `json:"bucket"`
}

// keyTextOf builds the Go value of a vector and returns its text.
func keyTextOf(t *testing.T, typ, value string) string {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatalf("%s %s: %v", typ, value, err)
		}
	}
	switch typ {
	case "char(8)":
		return CharText(value)
	case "boolean":
		return BoolText(value == "true")
	case "smallint", "integer", "bigint":
		n, err := strconv.ParseInt(value, 10, 64)
		must(err)
		return IntText(n)
	case "numeric":
		return NumericText(value)
	case "real":
		f, err := strconv.ParseFloat(value, 32)
		must(err)
		return Float4Text(float32(f))
	case "double precision":
		f, err := strconv.ParseFloat(value, 64)
		must(err)
		return Float8Text(f)
	case "bytea":
		b, err := hex.DecodeString(strings.TrimPrefix(value, `\x`))
		must(err)
		return ByteaText(b)
	case "jsonb":
		return JSONText(value)
	}
	return structuredKeyText(t, typ, value)
}

// structuredKeyText handles values that are made of parts, separated by "|"; ∅ is NULL.
func structuredKeyText(t *testing.T, typ, value string) string {
	t.Helper()
	var parts []*string
	for s := range strings.SplitSeq(value, "|") {
		if s == "∅" {
			parts = append(parts, nil)
			continue
		}
		parts = append(parts, &s)
	}
	number := func(i int) int64 {
		n, err := strconv.ParseInt(*parts[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch typ {
	case "interval (months|days|µs)":
		return IntervalText(int32(number(0)), int32(number(1)), number(2))
	case "timetz (µs|seconds west)":
		return TimetzText(number(0), int32(number(1)))
	case "array (elements)":
		return ArrayText(parts)
	case "row (columns)":
		return RowText(parts)
	case "range (bounds|lower|upper)":
		return RangeText(
			*parts[0] == "empty", parts[1], parts[2], (*parts[0])[0] == '[', strings.HasSuffix(*parts[0], "]"),
		)
	case "composite key (columns)":
		var texts []string
		for _, p := range parts {
			texts = append(texts, *p)
		}
		return KeyText(texts...)
	case "text", "name", "uuid", "date", "time", "timestamp", "timestamptz":
		return value
	}
	t.Fatalf("no rule for type %s", typ)
	return ""
}

func TestKeyTextVectors(t *testing.T) {
	const file = "testdata/keytext.json"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []keyVector
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, v := range vectors {
		got := v
		got.Text = keyTextOf(t, v.Type, v.Value)
		got.Bucket = BucketOfKey(got.Text)
		if got != v && !*rewrite {
			t.Errorf("got %+v, want %+v", got, v)
		}
		var line strings.Builder
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(got); err != nil {
			t.Fatal(err)
		}
		out.WriteString(map[bool]string{true: "[\n  ", false: ",\n  "}[i == 0] + strings.TrimSpace(line.String()))
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()+"\n]\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEqualKeysShareText is B3 for pairs that PostgreSQL calls equal though they print differently.
func TestEqualKeysShareText(t *testing.T) {
	pairs := [][2]string{
		{NumericText("1.50"), NumericText("1.5000")},
		{NumericText("-0"), NumericText("0.000")},
		{Float8Text(math.Copysign(0, -1)), Float8Text(0)},
		{CharText("a"), CharText("a   ")},
		{IntervalText(1, 0, 0), IntervalText(0, 30, 0)},
		{IntervalText(0, 1, 0), IntervalText(0, 0, microsPerDay)},
		{IntervalText(math.MaxInt32, 0, 0), IntervalText(math.MaxInt32-1, 30, 0)},
		{IntervalText(0, math.MinInt32, 0), IntervalText(0, math.MinInt32+1, -microsPerDay)},
		{JSONText(`{"a": 1.00, "b": "1.00"}`), JSONText(`{"a": 1, "b": "1.00"}`)},
		{JSONText(`[-1.50, "\"-1.50", 1.0]`), `[-1.5, "\"-1.50", 1]`},
	}
	for _, p := range pairs {
		if p[0] != p[1] {
			t.Errorf("%q and %q differ", p[0], p[1])
		}
	}
}

func FuzzJSONText(f *testing.F) {
	f.Add(`{"a": 1.50, "b": ["x\"1.0", -0.0]}`)
	f.Add(`"1.0`)
	f.Fuzz(func(t *testing.T, s string) {
		if once := JSONText(s); JSONText(once) != once && json.Valid([]byte(s)) {
			t.Errorf("%q: %q is not stable", s, once)
		}
	})
}
