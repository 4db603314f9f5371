package shardmap

import (
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

func TestPlaceBookNumbers(t *testing.T) {
	customer := []Value{Text("customers/1-A")}
	tests := []struct {
		policy, id, want string
		values           []Value
	}{
		{`{"Fields":["Customer"]}`, "orders/1-A$", "orders/1-A$@982173", customer},
		{`{"Fields":["Customer"],"Range":1000}`, "orders/1-A$", "orders/1-A$@982326", customer},
		{`{"Fields":["Customer"],"Range":10000}`, "orders/1-A$", "orders/1-A$@981326", customer},
		{`{"Fields":["Customer"],"Range":1048576}`, "orders/1-A$", "orders/1-A$@151326", customer},
		{`{"Fields":["Customer"],"Mutable":true}`, "orders/1-A$", "orders/1-A$@982173", customer},
		{`{"Fields":["id()"]}`, "orders/1-A$", "orders/1-A$@151326", nil},
		{`{"Fields":["Customer"]}`, "orders/5-A", "orders/5-A", customer},
		{`{"Fields":["Customer"]}`, "orders/5-A$@3", "orders/5-A$@3", customer},
		{`{"Fields":["numeric(Zip)"]}`, "orders/1-A$", "orders/1-A$@10001", []Value{Text("10001")}},
		{`{"Fields":["Customer"]}`, "orders/1-A$@7$", "orders/1-A$@7$@982173", customer},
	}
	for _, tt := range tests {
		p := policyJSONOf(t, tt.policy)
		id, err := p.Place(nil, "orders", tt.id, tt.values)
		if err != nil || id.Text != tt.want {
			t.Errorf("%s: %s placed as %+v, %v; want %s", tt.policy, tt.id, id, err, tt.want)
			continue
		}
		if parsed, err := ParseID(id.Text); err != nil || parsed != id {
			t.Errorf("%s parses as %+v, not %+v", id.Text, parsed, id)
		}
	}
	if _, err := (*Policy)(nil).Place(nil, "orders", "orders/1-A$", nil); !pgerr.Is(err, pgerr.InvalidParameterValue) {
		t.Errorf("without a policy: %v", err)
	}
}

// TestBlockAtEndOfSpace: 2^20 is no multiple of 1000, so the last block has 576 buckets and the own
// bucket is folded into those.
func TestBlockAtEndOfSpace(t *testing.T) {
	p := policyJSONOf(t, `{"Fields":["numeric(n)"],"Range":1000}`)
	if got := p.Block(nil, 1048000); got != (Interval{1048000, 1048576}) {
		t.Fatalf("last block %v", got)
	}
	id, err := p.Place(nil, "t", "orders/1-A$", []Value{Number("1048575")})
	if want := Bucket(1048000 + 151326%576); err != nil || id.Bucket != want {
		t.Errorf("placed in %d, %v; want %d", id.Bucket, err, want)
	}
	if err := p.Check(nil, "t", id, []Value{Number("1048575")}); err != nil {
		t.Error(err)
	}
}

func TestContentBucket(t *testing.T) {
	h := HashBucket
	tests := []struct {
		by     string
		values []Value
		want   Bucket
	}{
		{"a", []Value{Text("Customers/1-A")}, 982173},
		{"a", []Value{Number("1.50")}, h("1.5")},
		{"a", []Value{Text("1.50")}, h("1.5")},
		{"a", []Value{Number("2.00")}, h("2")},
		{"a", []Value{Number("-0.000")}, h("0")},
		{"a", []Value{Text("-0")}, h("-0")},
		{"a", []Value{Text("01.50")}, h("01.50")},
		{"a", []Value{Text("1.")}, h("1.")},
		{"a", []Value{Text(".50")}, h(".50")},
		{"a", []Value{Text("1.5.0")}, h("1.5.0")},
		{"a", []Value{Text("+1.50")}, h("+1.50")},
		{"a", []Value{Text("--1.50")}, h("--1.50")},
		{"a", []Value{Text("true")}, h("true")},
		{"a", []Value{Text("")}, h("")},
		{"a", []Value{Text("x$@5")}, h("x$@5")},
		{"a, b", []Value{Text("NY"), Text("New York")}, h("nynew york")},
		{"b, a", []Value{Text("New York"), Text("NY")}, h("new yorkny")},
		{"a, b", []Value{Missing(), Text("New York")}, h("new york")},
		{"a, b", []Value{Missing(), Missing()}, h("")},
		{"a, b", []Value{Number("1.0"), Number("2.50")}, h("12.5")},
		{"a, numeric(b)", []Value{Text("NY"), Number("1048577.9")}, h("ny1")},
		{"a, numeric(b)", []Value{Text("NY"), Missing()}, h("ny")},
		{"day(d), a", []Value{Text("0001-01-02"), Text("x")}, h("1x")},
		{"day(d)", []Value{Text("2026-11-21T23:59:59Z")}, h("739940")},
		{"month(d)", []Value{Text("2026-11-21")}, h("24310")},
		{"hour(d)", []Value{Text("0001-01-02 03:00")}, h("27")},
	}
	for _, tt := range tests {
		b, err := mustPolicy(t, tt.by).ContentBucket(nil, "t", 7, tt.values)
		if err != nil || b != tt.want {
			t.Errorf("%s %+v: %d, %v; want %d", tt.by, tt.values, b, err, tt.want)
		}
	}
}

func TestNumericFunction(t *testing.T) {
	tests := []struct {
		text string
		want int64
		code string
	}{
		{"0", 0, ""}, {"10001", 10001, ""}, {"1048576", 0, ""}, {"1048577", 1, ""},
		{"-1", 1048575, ""}, {"-1.9", 1048575, ""}, {"-0.9", 0, ""}, {"1.9", 1, ""}, {"+7", 7, ""},
		{" 12 ", 12, ""}, {"1e3", 1000, ""}, {"1.2345e2", 123, ""}, {"12345e-2", 123, ""}, {"5e-9", 0, ""},
		{".5", 0, ""}, {"5.", 5, ""},
		{"123456789012345678901234567890", 985810, ""}, {"1e100000", 0, ""},
		{"", 0, "22P02"}, {"abc", 0, "22P02"}, {"1 2", 0, "22P02"}, {"--1", 0, "22P02"}, {"-+1", 0, "22P02"},
		{".", 0, "22P02"}, {"1e", 0, "22P02"},
		{"1e+-3", 0, "22P02"}, {"NaN", 0, "22P02"}, {"1.2.3", 0, "22P02"}, {"0x10", 0, "22P02"},
		{"1e131073", 0, "22003"}, {"1e99999999999999999999", 0, "22003"},
	}
	for _, tt := range tests {
		got, err := numericMod(tt.text)
		if pgerr.Code(err) != tt.code || got != tt.want {
			t.Errorf("numeric(%q) = %d, %v; want %d %s", tt.text, got, err, tt.want, tt.code)
		}
	}
}

func TestTimeFunctions(t *testing.T) {
	tests := []struct {
		text                    string
		ticks, day, hour, month int64
		code                    string
	}{
		{text: "0001-01-01", ticks: 0, day: 0, hour: 0, month: 0},
		{text: "0001-01-01T00:00:00.0000015Z", ticks: 15},
		{text: "0001-01-01 BC", ticks: floorMod(-366*secondsPerDay%BucketCount*ticksPerSecond, BucketCount),
			day: -366, hour: -366 * 24, month: -12},
		{text: "1970-01-01T00:00:00Z", ticks: 621355968000000000 % BucketCount, day: 719162, hour: 719162 * 24,
			month: 1969 * 12},
		{text: "2026-11-21 06:00:00.12+01", ticks: 639308340001200000 % BucketCount, day: 739940,
			hour: 739940*24 + 5, month: 2025*12 + 10},
		{text: "2026-12-01T00:30:00+01:00", ticks: 639316782000000000 % BucketCount, day: 739949,
			hour: 739949*24 + 23, month: 2025*12 + 10},
		{text: "2024-02-29t24:00:00", ticks: 638448480000000000 % BucketCount, day: 738945, hour: 738945 * 24,
			month: 2023*12 + 2},
		{text: "2023-02-29", code: "22008"}, {text: "2023-13-01", code: "22008"}, {text: "2023-00-10", code: "22008"},
		{text: "", code: "22007"}, {text: "infinity", code: "22007"}, {text: "yesterday", code: "22007"},
		{text: "2023-1-1", code: "22007"},
		{text: "2023-01-01T", code: "22007"}, {text: "2023-01-01T25:00", code: "22007"},
		{text: "2023-01-01T10", code: "22007"},
		{text: "2023-01-01T10:00:00+", code: "22007"}, {text: "2023-01-01T10:00:00+1", code: "22007"},
		{text: "2023-01-01T24:00:01", code: "22007"},
		{text: "0000-01-01", code: "22007"}, {text: "2023-01-01T10:00.5", code: "22007"},
		{text: "9999999-01-01", code: "22007"},
	}
	for _, tt := range tests {
		for fn, want := range map[Func]int64{
			TicksFunc: tt.ticks, DayFunc: tt.day, HourFunc: tt.hour, MonthFunc: tt.month,
		} {
			got, err := (Field{Func: fn}).number(tt.text)
			if pgerr.Code(err) != tt.code || (tt.code == "" && got != want) {
				t.Errorf("%s(%q) = %d, %v; want %d %s", funcNames[fn], tt.text, got, err, want, tt.code)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	id := func(s string) ID {
		p, err := ParseID(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	one, fuzzy := policyJSONOf(t, `{"Fields":["Customer"]}`), policyJSONOf(t, `{"Fields":["Customer"],"Range":1000}`)
	mutable, two := policyJSONOf(
		t, `{"Fields":["Customer"],"Mutable":true}`,
	), policyJSONOf(t, `{"Fields":["Address.State","Address.City"]}`)
	tests := []struct {
		name   string
		policy *Policy
		id     string
		values []Value
		detail string // of a 23514
		hint   string
	}{
		{name: "placed", policy: one, id: "orders/1-A$@982173", values: []Value{Text("customers/1-A")}},
		{name: "same bucket, other value", policy: one, id: "orders/1-A$@982173",
			values: []Value{Text("customers/741135-C")}},
		{name: "anchored, other value of the bucket", policy: one, id: "orders/1-A$customers/1-A",
			values: []Value{Text("customers/741135-C")}},
		{name: "within the block", policy: fuzzy, id: "orders/1-A$@982999", values: []Value{Text("customers/1-A")}},
		{name: "mutable", policy: mutable, id: "orders/5-A", values: []Value{Array()}},
		{name: "id()", policy: mustPolicy(t, "id()"), id: "orders/5-A"},
		{name: "no policy", policy: nil, id: "orders/5-A"},
		{
			name: "moved to another customer", policy: one, id: "orders/1-A$@982173",
			values: []Value{Text("customers/2-B")},
			detail: `Field "Customer" with value "customers/2-B" belongs in bucket 2423, but id "orders/1-A$@982173" lies in bucket 982173. Legal ids: "orders/1-A$customers/2-B", "orders/1-A$@2423".`,
			hint:   `Insert the document as "orders/1-A$" and the server chooses the bucket; a document that is there already must be deleted and inserted again.`,
		},
		{
			name: "id without $", policy: one, id: "orders/5-A", values: []Value{Text("customers/1-A")},
			detail: `Field "Customer" with value "customers/1-A" belongs in bucket 982173, but id "orders/5-A" lies in bucket 441984. Legal ids: "orders/5-A$customers/1-A", "orders/5-A$@982173".`,
			hint:   `Insert the document as "orders/5-A$" and the server chooses the bucket; a document that is there already must be deleted and inserted again.`,
		},
		{
			name: "outside the block", policy: fuzzy, id: "orders/1-A$@983000", values: []Value{Text("customers/1-A")},
			detail: `Field "Customer" with value "customers/1-A" belongs in buckets 982000 to 982999 (its own is 982173), but id "orders/1-A$@983000" lies in bucket 983000. Legal ids: "orders/1-A$customers/1-A", "orders/1-A$@982173".`,
			hint:   `Insert the document as "orders/1-A$" and the server chooses the bucket; a document that is there already must be deleted and inserted again.`,
		},
		{
			name: "two fields", policy: two, id: "customers/1-A$@5", values: []Value{Text("NY"), Missing()},
			detail: `Fields "Address.State", "Address.City" with values "NY", null belong in bucket 434445, but id "customers/1-A$@5" lies in bucket 5. Legal ids: "customers/1-A$@434445".`,
			hint:   `Insert the document as "customers/1-A$" and the server chooses the bucket; a document that is there already must be deleted and inserted again.`,
		},
		{
			name: "an anchor that would mean something else is no legal id", policy: one, id: "orders/1-A$@5",
			values: []Value{Text("@7")},
			detail: `Field "Customer" with value "@7" belongs in bucket 815411, but id "orders/1-A$@5" lies in bucket 5. Legal ids: "orders/1-A$@815411".`,
			hint:   `Insert the document as "orders/1-A$" and the server chooses the bucket; a document that is there already must be deleted and inserted again.`,
		},
		{name: "missing", policy: one, id: "orders/1-A$@5", values: []Value{Missing()},
			detail: `Field "Customer" is missing or null.`,
			hint:   `The policy shards by Customer, so the field must hold a single value.`},
		{name: "array", policy: one, id: "orders/1-A$@5", values: []Value{Array()},
			detail: `Field "Customer" is an array.`,
			hint:   `The policy shards by Customer, so the field must hold a single value.`},
		{name: "object among several", policy: two, id: "orders/1-A$@5", values: []Value{Text("a"), Object()},
			detail: `Field "Address.City" is an object.`,
			hint:   `The policy shards by Address.State, Address.City, so the field must hold a single value.`},
		{name: "no number", policy: mustPolicy(t, "numeric(Zip)"), id: "orders/1-A$@5", values: []Value{Text("x")},
			detail: `Field "Zip" cannot be read by numeric(): invalid input syntax for type numeric: "x".`,
			hint:   `The policy shards by numeric(Zip).`},
	}
	for _, tt := range tests {
		e := pgerr.From(tt.policy.Check(nil, "orders", id(tt.id), tt.values))
		if tt.detail == "" {
			if e != nil {
				t.Errorf("%s: %v", tt.name, e)
			}
			continue
		}
		if e == nil || e.Code != pgerr.CheckViolation || e.Detail != tt.detail || e.Hint != tt.hint ||
			e.Table != "orders" || e.Constraint != "sharding" ||
			e.Message != `new row for relation "orders" violates check constraint "sharding"` {
			t.Errorf("%s: %+v", tt.name, e)
		}
	}
	if err := one.Check(
		nil, "orders", id("orders/1-A$"), []Value{Text("customers/1-A")},
	); !pgerr.Is(err, pgerr.InvalidParameterValue) {
		t.Errorf("update to an id that asks for placement: %v", err)
	}
}

func TestRoute(t *testing.T) {
	tests := []struct {
		policy string
		values []Value
		want   Interval
		ok     bool
	}{
		{`{"Fields":["Customer"]}`, []Value{Text("customers/1-A")}, Interval{982173, 982174}, true},
		{`{"Fields":["Customer"],"Range":1000}`, []Value{Text("customers/1-A")}, Interval{982000, 983000}, true},
		{`{"Fields":["Customer"],"Mutable":true}`, []Value{Text("customers/1-A")}, Interval{}, false},
		{`{"Fields":["id()"]}`, []Value{Missing()}, Interval{}, false},
		{`{"Fields":["numeric(n)"]}`, []Value{Text("abc")}, Interval{}, false},
		{`{"Fields":["Customer"]}`, []Value{Missing()}, Interval{}, false},
	}
	for _, tt := range tests {
		if got, ok := policyJSONOf(t, tt.policy).Route(nil, tt.values); got != tt.want || ok != tt.ok {
			t.Errorf("%s %+v: %v %v", tt.policy, tt.values, got, ok)
		}
	}
}

// FuzzPlaceCheckRoute holds B4: what Place places passes Check and lies where Route looks.
func FuzzPlaceCheckRoute(f *testing.F) {
	f.Add("orders/1-A", "customers/1-A", uint32(1), uint8(0))
	f.Add("a$b", "1.50", uint32(1000), uint8(1))
	f.Add("İ", "2026-11-21T06:00:00Z", uint32(1<<20), uint8(3))
	f.Fuzz(func(t *testing.T, base, value string, rng uint32, fn uint8) {
		fn %= uint8(IDFunc)
		p := &Policy{Fields: []Field{{Func: Func(fn), Path: []string{"f"}}}, Range: rng%MaxRange + 1}
		values := []Value{Text(value)}
		id, err := p.Place(nil, "t", base+"$", values)
		if err != nil {
			if pgerr.Code(err) == pgerr.InternalError {
				t.Fatalf("unmarked error %v", err)
			}
			return
		}
		if err := p.Check(nil, "t", id, values); err != nil {
			t.Fatalf("%s is refused: %v", id.Text, err)
		}
		if block, ok := p.Route(nil, values); !ok || !block.Contains(id.Bucket) {
			t.Fatalf("%s in bucket %d, routed to %v %v", id.Text, id.Bucket, block, ok)
		}
	})
}
