package shardmap

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// TestUnits compares the units of instants with those that placement makes of the same instants'
// texts.
func TestUnits(t *testing.T) {
	rnd, since := rand.New(rand.NewPCG(5, 6)), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	const year = 365 * 24 * 3600 * int64(microsPerSecond)
	for range 5000 {
		micros := rnd.Int64N(9000*year) - 1999*year
		at := since.AddDate(0, 0, int(floorDiv(micros, 86400*microsPerSecond))).
			Add(time.Duration(floorMod(micros, 86400*microsPerSecond)) * time.Microsecond)
		if at.Year() < 1 || at.Year() > 9999 {
			continue
		}
		text := at.Format("2006-01-02T15:04:05.999999Z")
		for _, fn := range []Func{TicksFunc, DayFunc, HourFunc, MonthFunc} {
			f := Field{Func: fn, Path: []string{"at"}}
			want, err := f.number(text)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := f.Units(micros, micros)
			if !ok || len(got) != 1 || got[0].Text != strconv.FormatInt(want, 10) {
				t.Fatalf("%s of %s: %v, want %d", f, text, got, want)
			}
		}
	}
}

func TestUnitsBetween(t *testing.T) {
	const day = 24 * 3600 * int64(microsPerSecond)
	for _, tt := range []struct {
		fn          Func
		first, last int64
		want        int // -1: too many
	}{
		{DayFunc, 0, day - 1, 1},
		{DayFunc, -1, day, 3},
		{DayFunc, 1, 0, 0},
		{DayFunc, 0, MaxUnits*day - 1, MaxUnits},
		{DayFunc, 0, MaxUnits * day, -1},
		{HourFunc, 0, day, 25},
		{MonthFunc, 0, 59 * day, 2},
		{MonthFunc, -1, 60 * day, 4},
		{TicksFunc, -1, 1, 21},
		{TicksFunc, 0, day, -1},
	} {
		got, ok := Field{Func: tt.fn}.Units(tt.first, tt.last)
		if n := len(got); ok != (tt.want >= 0) || ok && n != tt.want {
			t.Errorf("%s from %d to %d: %d, %v, want %d", funcNames[tt.fn], tt.first, tt.last, n, ok, tt.want)
		}
	}
}
