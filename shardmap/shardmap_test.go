package shardmap

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/sherddb/sherd/internal/pgerr"
)

// bucketVector is one line of the frozen vectors.
type bucketVector struct {
	ID     string `json:"id"`
	Bucket Bucket `json:"bucket"`
	Err    string `json:"err"`
}

func TestBucketVectors(t *testing.T) {
	raw, err := os.ReadFile("../integration/testdata/bucket-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []bucketVector
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) != 43 {
		t.Fatalf("%d vectors, want 43", len(vectors))
	}
	for _, v := range vectors {
		b, err := BucketOf(v.ID)
		if v.Err != "" {
			if !pgerr.Is(err, pgerr.InvalidParameterValue) {
				t.Errorf("%s: error %v, want 22023 (%s)", v.ID, err, v.Err)
			}
			continue
		}
		if err != nil || b != v.Bucket {
			t.Errorf("%s: bucket %d, %v; want %d", v.ID, b, err, v.Bucket)
		}
	}
}

func TestParseID(t *testing.T) {
	tests := []struct {
		id     string
		kind   IDKind
		base   string
		anchor string
		bucket Bucket
		code   string
	}{
		{id: "orders/1-A", kind: WholeID, base: "orders/1-A", bucket: 151326},
		{id: "$@5", kind: WholeID, base: "$@5", bucket: 434747},
		{id: "x$@", kind: AnchoredID, base: "x", anchor: "@", bucket: 89120},
		{id: "$foo", kind: WholeID, base: "$foo", bucket: 706099},
		{id: "$$foo", kind: AnchoredID, base: "$", anchor: "foo", bucket: 309823},
		{id: "orders/1-A$@982173", kind: ExplicitID, base: "orders/1-A", anchor: "@982173", bucket: 982173},
		{id: "orders/1-A$@9821734", code: pgerr.InvalidParameterValue},
		{id: "a$@007", code: pgerr.InvalidParameterValue},
		{id: "a$@00", code: pgerr.InvalidParameterValue},
		{id: "a$@99999999999999999999999", code: pgerr.InvalidParameterValue},
		{id: "a$@٣", kind: AnchoredID, base: "a", anchor: "@٣", bucket: HashBucket("@٣")},
		{id: "orders/1-A$", kind: PlacementID, base: "orders/1-A", bucket: 151326},
		{id: "a$@5$", kind: PlacementID, base: "a$@5", bucket: 5},
		{id: "a$@1048576$", code: pgerr.InvalidParameterValue},
		{id: "$", code: pgerr.InvalidParameterValue},
		{id: "$$", code: pgerr.InvalidParameterValue},
		{id: "a$$", code: pgerr.InvalidParameterValue},
		{id: "a\x00b", code: pgerr.CharacterNotInRepertoire},
		{id: "a\xffb", code: pgerr.CharacterNotInRepertoire},
		{id: "", kind: WholeID, bucket: HashBucket("")},
	}
	for _, tt := range tests {
		id, err := ParseID(tt.id)
		if pgerr.Code(err) != tt.code {
			t.Errorf("ParseID(%q): error %v, want %q", tt.id, err, tt.code)
			continue
		}
		if tt.code != "" {
			continue
		}
		want := ID{Text: tt.id, Base: tt.base, Anchor: tt.anchor, Kind: tt.kind, Bucket: tt.bucket}
		if tt.kind == PlacementID {
			want.fold = tt.bucket
		}
		if id != want {
			t.Errorf("ParseID(%q) = %+v, want %+v", tt.id, id, want)
		}
	}
}

func TestIDErrorTexts(t *testing.T) {
	explicit := func(id string) error {
		p, err := ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		return p.CheckExplicit(false)
	}
	_, errRange := BucketOf("orders/1-A$@1048576")
	_, errZeros := BucketOf("orders/1-A$@0982173")
	_, errPlacement := BucketOf("orders/1-A$")
	_, errDouble := BucketOf("orders/1-A$$")
	unplaced, _ := ParseID("orders/1-A$")
	errUpdate := (&Policy{}).Check(nil, "orders", unplaced, nil)
	tests := []struct {
		err                   error
		message, detail, hint string
	}{
		{errRange, `bucket number in id "orders/1-A$@1048576" is out of range`,
			`Buckets are numbered from 0 to 1048575.`, `Use a bucket of that range after "$@", or another anchor.`},
		{errZeros, `bucket number in id "orders/1-A$@0982173" has leading zeros`,
			`A bucket has one spelling, so that a document has one id.`, `Write "$@982173".`},
		{errPlacement, `id "orders/1-A$" ends with "$"`,
			`A "$" at the end asks for placement by content, which happens only when a document is inserted into a collection with a sharding policy.`, `Write the whole id, name an anchor as in "orders/1-A$customers/1-A", or give the collection a policy: ALTER TABLE … SET (shard_by = '…').`},
		{errUpdate, `id "orders/1-A$" ends with "$"`,
			`A "$" at the end asks for placement by content, which happens only when a document is inserted into a collection with a sharding policy.`, `Write the whole id, or name an anchor as in "orders/1-A$customers/1-A".`},
		{errDouble, `id "orders/1-A$$" ends with "$$"`,
			`One "$" at the end asks for placement by content; two mean nothing.`, `Remove one "$".`},
		{explicit("orders/1-A$@5"), `id "orders/1-A$@5" names its bucket`, `sherd.explicit_buckets is off.`,
			`Anchor the document to another id, as in "orders/1-A$customers/1-A", or set sherd.explicit_buckets = on.`},
	}
	for _, tt := range tests {
		e := pgerr.From(tt.err)
		if e == nil || e.Code != pgerr.InvalidParameterValue || e.Message != tt.message || e.Detail != tt.detail ||
			e.Hint != tt.hint {
			t.Errorf("got %+v\nwant %s | %s | %s", e, tt.message, tt.detail, tt.hint)
		}
	}
	if err := explicit("orders/1-A$customers/1-A"); err != nil {
		t.Error(err)
	}
}

// TestLowerTable holds for the Go release the table was made with; later ones may know newer
// Unicode, where only frozen runes count.
func TestLowerTable(t *testing.T) {
	if unicode.Version != "15.0.0" {
		t.Skipf("Go's tables are Unicode %s, the frozen table is 15.0.0", unicode.Version)
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if got, want := lowerRune(r), unicode.ToLower(r); got != want {
			t.Fatalf("lowerRune(%U) = %U, want %U", r, got, want)
		}
	}
	for _, s := range []string{"", "abc", "MÜLLER/1", "İstanbul/1", "ΟΔΟΣ", "K Å Ω", "ẞ", "日本", "Ⱥ"} {
		if got := Lower(s); got != strings.ToLower(s) {
			t.Errorf("Lower(%q) = %q, want %q", s, got, strings.ToLower(s))
		}
	}
	if got := Lower("A\xffB"); got != "a\xffb" {
		t.Errorf("invalid bytes: %q", got)
	}
}

func TestHashBucketFoldsLongKeys(t *testing.T) {
	long := strings.Repeat("ÄB/", 100)
	if HashBucket(long) != HashBucket(strings.ToLower(long)) {
		t.Error("a key longer than the stack buffer folds differently")
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"orders/1-A", "a$b", "a$@5", "a$@05", "a$", "$", "$$", "x$@", "İ$Å", "a\x00", "\xff$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		if err != nil {
			if c := pgerr.Code(err); c != pgerr.InvalidParameterValue && c != pgerr.CharacterNotInRepertoire {
				t.Fatalf("%q: unmarked error %v", s, err)
			}
			return
		}
		if id.Bucket >= BucketCount || id.Text != s {
			t.Fatalf("%q: %+v", s, id)
		}
		if id.Kind == PlacementID {
			placed, err := mustPolicy(t, "id()").Place(nil, "t", s, nil)
			if err != nil || placed.Bucket != id.Bucket {
				t.Fatalf("%q placed as %+v, %v", s, placed, err)
			}
			again, err := ParseID(placed.Text)
			if err != nil || again != placed {
				t.Fatalf("%q: placed %+v, parsed %+v, %v", s, placed, again, err)
			}
		}
	})
}

func mustPolicy(t testing.TB, by string) *Policy {
	t.Helper()
	p, err := ParseOptions(Options{By: by})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func BenchmarkBucketOf(b *testing.B) {
	for b.Loop() {
		if _, err := BucketOf("orders/1-A$customers/1-A"); err != nil {
			b.Fatal(err)
		}
	}
}
