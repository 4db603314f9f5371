package shardmap

import "strconv"

// MaxUnits bounds the units of time between two instants that are worth routing by: a year of days.
const MaxUnits = 400

// secondsTo2000 is the number of seconds from 0001-01-01 to 2000-01-01, from which PostgreSQL
// counts.
var secondsTo2000 = daysSinceYearOne(2000, 1, 1) * secondsPerDay

const microsPerSecond = 1_000_000

// OfTime reports whether f's function reads an instant: ticks, day, hour and month do.
func (f Field) OfTime() bool {
	return f.Func == TicksFunc || f.Func == DayFunc || f.Func == HourFunc || f.Func == MonthFunc
}

// Units returns the values, for Route, of all instants from first to last, both included, in
// microseconds since 2000-01-01 UTC. It returns false if there are more than MaxUnits of them. If
// first is after last there are none.
func (f Field) Units(first, last int64) ([]Value, bool) {
	if first > last {
		return nil, true
	}
	if f.Func == TicksFunc {
		return ticksBetween(first, last)
	}
	lo, hi := f.unitOf(instantAt(first)), f.unitOf(instantAt(last))
	if hi-lo >= MaxUnits {
		return nil, false
	}
	var out []Value
	for n := lo; n <= hi; n++ {
		out = append(out, unitValue(n))
	}
	return out, true
}

func ticksBetween(first, last int64) ([]Value, bool) {
	const ticksPerMicro = ticksPerSecond / microsPerSecond
	if uint64(last)-uint64(first) > MaxUnits/ticksPerMicro {
		return nil, false
	}
	lo := Field{Func: TicksFunc}.unitOf(instantAt(first))
	var out []Value
	for n := range (last-first)*ticksPerMicro + 1 {
		out = append(out, unitValue((lo+n)%BucketCount))
	}
	return out, true
}

// unitValue is a value whose function's number is known.
func unitValue(n int64) Value { return Value{Kind: unitKind, Text: strconv.FormatInt(n, 10)} }

// instantAt converts microseconds since 2000-01-01 UTC.
func instantAt(micros int64) instant {
	t := instant{
		seconds: floorDiv(micros, microsPerSecond) + secondsTo2000,
		ticks:   floorMod(micros, microsPerSecond) * (ticksPerSecond / microsPerSecond),
	}
	t.month = t.monthNumber()
	return t
}
