package types

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// TestNow checks the words that depend on the statement's time.
func TestNow(t *testing.T) {
	env := &Env{Zone: berlin, Now: mustIn(TimestampTZ, "2020-06-30 23:30:00+00").N}
	for _, c := range []struct {
		oid  OID
		text string
		want string
	}{{TimestampTZ, "now", "2020-07-01 01:30:00+02"}, {Date, "today", "2020-07-01"}, {Date, "yesterday", "2020-06-30"},
		{Timestamp, "tomorrow", "2020-07-02 00:00:00"}, {Time, "now", "01:30:00"}, {TimeTZ, "now", "01:30:00+02"},
		{TimestampTZ, "today 10:00", "2020-07-01 10:00:00+02"}} {
		d, err := Input(c.oid, -1, c.text, env)
		if got := Output(c.oid, d, env); err != nil || got != c.want {
			t.Errorf("%s %q: %s, %v; want %s", TypeName(c.oid), c.text, got, err, c.want)
		}
	}
}

func TestZones(t *testing.T) {
	for text, want := range map[string]string{"europe/berlin": "Europe/Berlin", "utc": "UTC", "est5edt": "EST5EDT",
		"<+03>-3": "<+03>-3", "no/where": "", "": ""} {
		_, name, ok := LoadZone(text)
		if ok != (want != "") || name != want {
			t.Errorf("%q: %q, %v", text, name, ok)
		}
	}
	if _, name := FixedZone(5*3600 + 1800); name != "<+05:30>-05:30" {
		t.Error(name)
	}
}

func TestTypmodText(t *testing.T) {
	num, _ := TypmodIn(Numeric, []int32{5, -2})
	ts, _ := TypmodIn(Timestamp, []int32{3})
	ym, _ := IntervalTypmodIn([]int32{ivYear | ivMonth})
	ds, _ := IntervalTypmodIn([]int32{ivDay | ivHour | ivMinute | ivSecond, 2})
	vc, _ := TypmodIn(VarCharArray, []int32{10})
	for _, c := range []struct {
		oid    OID
		typmod int32
		want   string
	}{{Numeric, num, "numeric(5,-2)"}, {Timestamp, ts, "timestamp(3) without time zone"},
		{Interval, ym, "interval year to month"},
		{Interval, ds, "interval day to second(2)"}, {VarCharArray, vc, "character varying(10)[]"},
		{BPChar, -1, "bpchar"}, {BPChar, 5, "character(1)"}, {Int4, -1, "integer"}} {
		if got := FormatType(c.oid, c.typmod); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if _, err := TypmodIn(VarChar, []int32{0}); err == nil {
		t.Error("varchar(0) must be refused")
	}
}

// TestNoInput reads values of all types of pg_type and checks that no message names a type by its
// OID.
func TestNoInput(t *testing.T) {
	number, refused := regexp.MustCompile(`\d{3}`), 0
	for oid := OID(1); oid < 6200; oid++ {
		_, err := Input(oid, -1, "x", nil)
		var e *pgerr.Error
		if !errors.As(err, &e) || e.Code != pgerr.FeatureNotSupported {
			continue
		}
		refused++
		if number.MatchString(e.Message) || e.Hint == "" && oid != Record &&
			!strings.HasPrefix(e.Message, "cannot accept") {
			t.Errorf("%d: %s (hint %q)", oid, e.Message, e.Hint)
		}
	}
	if refused == 0 {
		t.Error("nothing is refused")
	}
}
