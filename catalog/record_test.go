package catalog

import (
	"slices"
	"testing"
)

// TestRecordsDroppedByTwo has two transactions drop the same old record. Neither is a conflict for
// the other, before its commit or in it.
func TestRecordsDroppedByTwo(t *testing.T) {
	c := openBootstrapped(t)
	note := func(ch *Change, subject string, micros int64) {
		t.Helper()
		if err := ch.Record(&Record{Kind: PolicyRecord, Subject: subject}, micros); err != nil {
			t.Fatal(err)
		}
	}
	apply := func(ch *Change) *View {
		t.Helper()
		if _, err := c.Apply(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
		return c.View()
	}
	old := c.View().Plan()
	note(old, "old", 1)
	v := apply(old)

	now := keepRecordFor.Microseconds() + 2*trimEvery.Microseconds()
	first, second := v.Plan(), v.Plan()
	note(first, "first", now)
	note(second, "second", now+1)
	v = apply(first)
	second = must[*Change](t)(second.Rebase(v))
	third := v.Plan()
	note(third, "third", now+2)
	v = apply(must[*Change](t)(second.On(v)))
	v = apply(must[*Change](t)(third.On(v)))

	var got []string
	for r := range v.Records() {
		got = append(got, r.Subject)
	}
	if want := []string{"first", "second", "third"}; !slices.Equal(got, want) {
		t.Errorf("records %q, want %q", got, want)
	}
}
