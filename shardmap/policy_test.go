package shardmap

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

func policyJSONOf(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := ParsePolicyJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPolicyForms(t *testing.T) {
	tests := []struct {
		options Options
		json    string
		by      string
		def     string
	}{
		{Options{By: "Customer"}, `{"Fields":["Customer"],"Range":1,"Mutable":false}`, "Customer",
			"SHARDING BY (Customer)"},
		{Options{"Customer", "1000", "true"}, `{"Fields":["Customer"],"Range":1000,"Mutable":true}`, "Customer",
			"SHARDING BY (Customer) RANGE 1000 MUTABLE"},
		{Options{By: ` Address.State , "a.b".c,NUMERIC( Total )`},
			`{"Fields":["Address.State","\"a.b\".c","numeric(Total)"],"Range":1,"Mutable":false}`,
			`Address.State, "a.b".c, numeric(Total)`, `SHARDING BY (Address.State, "a.b".c, numeric(Total))`},
		{Options{By: `"say ""hi"""`, Mutable: "off"}, `{"Fields":["\"say \"\"hi\"\"\""],"Range":1,"Mutable":false}`,
			`"say ""hi"""`, `SHARDING BY ("say ""hi""")`},
		{Options{By: `"range"`}, `{"Fields":["range"],"Range":1,"Mutable":false}`, `"range"`, `SHARDING BY ("range")`},
		{Options{By: `"numeric(x)", ""`}, `{"Fields":["\"numeric(x)\"","\"\""],"Range":1,"Mutable":false}`,
			`"numeric(x)", ""`, `SHARDING BY ("numeric(x)", "")`},
		{Options{By: "id()"}, `{"Fields":["id()"],"Range":1,"Mutable":false}`, "id()", "SHARDING BY (id())"},
		{Options{By: "numeric", Range: "1048576"}, `{"Fields":["numeric"],"Range":1048576,"Mutable":false}`,
			"numeric", "SHARDING BY (numeric) RANGE 1048576"},
	}
	for _, tt := range tests {
		p, err := ParseOptions(tt.options)
		if err != nil {
			t.Errorf("%+v: %v", tt.options, err)
			continue
		}
		if p.JSON() != tt.json || p.ByString() != tt.by || p.Definition() != tt.def {
			t.Errorf("%+v:\n%s\n%s\n%s", tt.options, p.JSON(), p.ByString(), p.Definition())
		}
		if q := policyJSONOf(t, tt.json); !p.Equal(q) {
			t.Errorf("%s reads back as %s", tt.json, q.JSON())
		}
		if q, err := ParseOptions(p.Options()); err != nil || !p.Equal(q) {
			t.Errorf("%+v does not read back: %v", p.Options(), err)
		}
	}
}

func TestPolicyDefaults(t *testing.T) {
	p := policyJSONOf(t, ` { "Fields" : ["Customer"] } `)
	if p.Range != 1 || p.Mutable {
		t.Errorf("%s", p.JSON())
	}
}

func TestPolicyFormErrors(t *testing.T) {
	options := []struct {
		o    Options
		code string
	}{
		{Options{By: ""}, pgerr.InvalidParameterValue},
		{Options{By: "a,"}, pgerr.InvalidParameterValue},
		{Options{By: "a b"}, pgerr.InvalidParameterValue},
		{Options{By: `"a`}, pgerr.InvalidParameterValue},
		{Options{By: "a..b"}, pgerr.InvalidParameterValue},
		{Options{By: "a)"}, pgerr.InvalidParameterValue},
		{Options{By: "upper(a)"}, pgerr.InvalidParameterValue},
		{Options{By: "numeric(a"}, pgerr.InvalidParameterValue},
		{Options{By: "numeric()"}, pgerr.InvalidParameterValue},
		{Options{By: "id(a)"}, pgerr.InvalidParameterValue},
		{Options{By: "id(), a"}, pgerr.InvalidParameterValue},
		{Options{By: "a, a"}, pgerr.InvalidParameterValue},
		{Options{By: "a", Range: "0"}, pgerr.InvalidParameterValue},
		{Options{By: "a", Range: "1048577"}, pgerr.InvalidParameterValue},
		{Options{By: "a", Range: "ten"}, pgerr.InvalidParameterValue},
		{Options{By: "a", Mutable: "perhaps"}, pgerr.InvalidParameterValue},
		{Options{By: "a\x00"}, pgerr.CharacterNotInRepertoire},
		{Options{By: strings.Repeat("a", 9000)}, pgerr.InvalidParameterValue},
		{Options{By: strings.Repeat("a.", 200) + "a"}, pgerr.InvalidParameterValue},
		{Options{By: " Range "}, pgerr.FeatureNotSupported},
	}
	for _, tt := range options {
		if _, err := ParseOptions(tt.o); pgerr.Code(err) != tt.code {
			t.Errorf("%.40q: %v, want %s", tt.o, err, tt.code)
		}
	}
	texts := map[string]string{
		``:                                   pgerr.InvalidTextRepresentation,
		`{`:                                  pgerr.InvalidTextRepresentation,
		`null`:                               pgerr.InvalidParameterValue,
		`[]`:                                 pgerr.InvalidParameterValue,
		`{}`:                                 pgerr.InvalidParameterValue,
		`{"Fields":[]}`:                      pgerr.InvalidParameterValue,
		`{"Fields":["a,b"]}`:                 pgerr.InvalidParameterValue,
		`{"Fields":["a"],"Range":1.5}`:       pgerr.InvalidParameterValue,
		`{"Fields":["a"],"Range":-1}`:        pgerr.InvalidParameterValue,
		`{"Fields":["a"],"Ranges":1}`:        pgerr.InvalidParameterValue,
		`{"Fields":["a"],"Mutable":"maybe"}`: pgerr.InvalidParameterValue,
		`{"Fields":["a"]} {}`:                pgerr.InvalidParameterValue,
		`{"Fields":["\u0000"]}`:              pgerr.CharacterNotInRepertoire,
	}
	for text, code := range texts {
		if _, err := ParsePolicyJSON(text); pgerr.Code(err) != code {
			t.Errorf("%s: %v, want %s", text, err, code)
		}
	}
}

func TestKeepsValidated(t *testing.T) {
	tests := []struct {
		from, to string
		want     bool
	}{
		{`{"Fields":["a"],"Range":10}`, `{"Fields":["a"],"Range":10}`, true},
		{`{"Fields":["a"],"Range":1}`, `{"Fields":["a"],"Range":1000}`, true},
		{`{"Fields":["a"],"Range":1000}`, `{"Fields":["a"],"Range":10000}`, true},
		{`{"Fields":["a"],"Range":1000}`, `{"Fields":["a"],"Range":1500}`, false},
		{`{"Fields":["a"],"Range":1000}`, `{"Fields":["a"],"Range":100}`, false},
		{`{"Fields":["a"]}`, `{"Fields":["b"]}`, false},
		{`{"Fields":["a","b"]}`, `{"Fields":["b","a"]}`, false},
		{`{"Fields":["a"]}`, `{"Fields":["numeric(a)"]}`, false},
		{`{"Fields":["a"]}`, `{"Fields":["a"],"Mutable":true}`, false},
		{`{"Fields":["a"],"Mutable":true}`, `{"Fields":["a"]}`, false},
		{`{"Fields":["a"],"Mutable":true}`, `{"Fields":["id()"]}`, true},
		{`{"Fields":["id()"]}`, `{"Fields":["a"]}`, false},
	}
	for _, tt := range tests {
		if got := policyJSONOf(t, tt.from).KeepsValidated(policyJSONOf(t, tt.to)); got != tt.want {
			t.Errorf("%s → %s: %v", tt.from, tt.to, got)
		}
	}
}

// TestKeepsValidatedWidens proves B5 for the ranges that are allowed, at both ends of the space.
func TestKeepsValidatedWidens(t *testing.T) {
	for _, r := range []uint32{1, 3, 7, 1000, 65536} {
		for _, k := range []uint32{1, 2, 3, 16} {
			p, q := &Policy{Range: r}, &Policy{Range: r * k}
			for _, b := range []Bucket{0, 1, 999, 1000, 524287, BucketCount - 1000, BucketCount - 1} {
				small, large := p.Block(nil, b), q.Block(nil, b)
				if small.Intersect(large) != small {
					t.Errorf("bucket %d: block %v of range %d not within %v of range %d", b, small, r, large, r*k)
				}
			}
		}
	}
}

func FuzzPolicyOptions(f *testing.F) {
	for _, s := range []string{
		"Customer", `Address.State, "a.b".c, numeric(Total)`, "id()", `"range"`, `"", "x"`, "a,", `"`, "day( d )",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, by string) {
		p, err := ParseOptions(Options{By: by})
		if err != nil {
			if pgerr.Code(err) == pgerr.InternalError {
				t.Fatalf("%q: unmarked error %v", by, err)
			}
			return
		}
		if q, err := ParseOptions(p.Options()); err != nil || !p.Equal(q) {
			t.Fatalf("%q: options %+v do not read back: %v", by, p.Options(), err)
		}
		if q, err := ParsePolicyJSON(p.JSON()); err != nil || !p.Equal(q) {
			t.Fatalf("%q: JSON %s does not read back: %v", by, p.JSON(), err)
		}
	})
}

func FuzzPolicyJSON(f *testing.F) {
	for _, s := range []string{
		`{"Fields":["Customer"],"Range":1000,"Mutable":false}`, `{"Fields":["\"a.b\".c"]}`, `{}`, `[`,
		`{"Fields":null}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePolicyJSON(text)
		if err != nil {
			if pgerr.Code(err) == pgerr.InternalError {
				t.Fatalf("%q: unmarked error %v", text, err)
			}
			return
		}
		if q, err := ParsePolicyJSON(p.JSON()); err != nil || !p.Equal(q) {
			t.Fatalf("%q: %s does not read back: %v", text, p.JSON(), err)
		}
	})
}
