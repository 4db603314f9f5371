package types

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// TestRanks checks that the ranks of new enums are in order, and that there is a rank between any two,
// wherever values were added before.
func TestRanks(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 127, 128, 300, 70_000} {
		ranks := RanksOf(n)
		checkRanks(t, ranks)
		if n > 300 {
			continue
		}
		for i := range n + 1 {
			checkRanks(t, insertRank(ranks, i))
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, at := range []func(n int) int{
		func(n int) int { return n }, func(int) int { return 0 }, func(n int) int { return n / 2 },
		func(n int) int { return min(n, 1) }, func(n int) int { return max(n-1, 0) },
		func(n int) int { return random.IntN(n + 1) },
	} {
		ranks := RanksOf(3)
		for range 2000 {
			ranks = insertRank(ranks, at(len(ranks)))
		}
		checkRanks(t, ranks)
	}
	appended := RanksOf(3)
	for range 1000 {
		appended = insertRank(appended, len(appended))
	}
	if last := appended[len(appended)-1]; len(last) > 12 {
		t.Errorf("the last of 1,000 values that were added at the end has a rank of %d bytes", len(last))
	}
}

func insertRank(ranks []string, at int) []string {
	lo, hi := "", ""
	if at > 0 {
		lo = ranks[at-1]
	}
	if at < len(ranks) {
		hi = ranks[at]
	}
	return slices.Insert(slices.Clone(ranks), at, RankBetween(lo, hi))
}

func checkRanks(t *testing.T, ranks []string) {
	t.Helper()
	for i, r := range ranks {
		if r == "" || strings.HasSuffix(r, "\x00") || i > 0 && ranks[i-1] >= r {
			t.Fatalf("rank %d of %d is %x", i, len(ranks), r)
		}
	}
}

// TestEnumOIDs checks that the kinds of enums and their array types follow from their OIDs.
func TestEnumOIDs(t *testing.T) {
	oid := enumTypes | 16384
	array := ArrayTypeOf(oid)
	if KindOf(oid) != KindEnum || !IsEnum(oid) || ElemOf(oid) != 0 || IsArray(oid) {
		t.Errorf("%d is of kind %d", oid, KindOf(oid))
	}
	if KindOf(array) != KindArray || IsEnum(array) || ElemOf(array) != oid || !IsArray(array) || ArrayTypeOf(array) != 0 {
		t.Errorf("its array type %d is of kind %d, with elements of %d", array, KindOf(array), ElemOf(array))
	}
	for _, other := range []OID{0, Text, 16384, 1<<30 | 16384, 1<<31 | 16384} {
		if IsEnum(other) || other >= tableLimit && KindOf(other) != KindNull {
			t.Errorf("%d is an enum, or of kind %d", other, KindOf(other))
		}
	}
}

// TestCompositeOIDs checks that the kinds of composite types and their array types follow from their OIDs.
func TestCompositeOIDs(t *testing.T) {
	oid := RowTypeOf(16384)
	array := ArrayTypeOf(oid)
	if KindOf(oid) != KindRecord || !IsComposite(oid) || IsEnum(oid) || ElemOf(oid) != 0 || IsArray(oid) {
		t.Errorf("%d is of kind %d", oid, KindOf(oid))
	}
	if KindOf(array) != KindArray || IsComposite(array) || IsEnum(array) || ElemOf(array) != oid || !IsArray(array) ||
		ArrayTypeOf(array) != 0 {
		t.Errorf("its array type %d is of kind %d, with elements of %d", array, KindOf(array), ElemOf(array))
	}
	if array == oid || IsComposite(Record) {
		t.Error("a type has the OID of another")
	}
}

// TestDomainOIDs checks that values of a domain are treated as those of its base type, whatever follows
// from the OID of the type.
func TestDomainOIDs(t *testing.T) {
	for _, s := range samples {
		oid := DomainOID(DomainOID(s.oid, 1), 1<<domainBits+7)
		if !IsDomain(oid) || IsDomain(s.oid) || BaseOf(oid) != s.oid || DomainOID(s.oid, 7) != oid ||
			KindOf(oid) != KindOf(s.oid) || ElemOf(oid) != ElemOf(s.oid) || IsArray(oid) != IsArray(s.oid) || CanKey(oid) != CanKey(s.oid) {
			t.Fatalf("domain %d over %d", oid, s.oid)
		}
		d, err := Input(oid, -1, s.text, nil)
		if err != nil || d != s.datum(t) || Output(oid, d, nil) != Output(s.oid, d, nil) ||
			string(AppendSend(nil, oid, d, nil)) != string(AppendSend(nil, s.oid, d, nil)) ||
			string(AppendKey(nil, oid, d, true)) != string(AppendKey(nil, s.oid, d, true)) ||
			Hash(oid, 1, d) != Hash(s.oid, 1, d) || !Equal(oid, d, d) {
			t.Errorf("%s %q as a domain: %v, %v", TypeName(s.oid), s.text, d, err)
		}
	}
	if padded := DomainOID(BPChar, 1); !Equal(padded, NewText("a"), NewText("a  ")) {
		t.Error("blanks at the end of a char(n) count in a domain over it")
	}
}

// TestEnumWithoutCatalog checks that no text is read as a value by mistake.
func TestEnumWithoutCatalog(t *testing.T) {
	oid := enumTypes | 16384
	if _, err := Input(oid, -1, "80", nil); !pgerr.Is(err, pgerr.InternalError) {
		t.Errorf("without a catalog: %v", err)
	}
	for _, text := range []string{"", "8", "sad"} {
		if _, err := Input(oid, -1, text, StoredEnv); !pgerr.Is(err, pgerr.InvalidBinaryRepresentation) {
			t.Errorf("rank %q: %v", text, err)
		}
	}
	env := &Env{
		EnumIn:  func(_ OID, text string) (string, error) { return "<" + text, nil },
		EnumOut: func(dst []byte, _ OID, rank string) []byte { return append(dst, rank[1:]...) },
	}
	d, err := Receive(ArrayTypeOf(oid), -1, AppendSend(nil, ArrayTypeOf(oid), NewList(oid, []Datum{NewEnum("<a"), Null}), env), env)
	if text := Output(ArrayTypeOf(oid), d, env); err != nil || text != "{a,NULL}" {
		t.Errorf("an array in binary form came back as %s, %v", text, err)
	}
}
