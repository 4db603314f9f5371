package builtin

import (
	"math"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// series is generate_series.
var series = map[string]SetFunc{
	"generate_series_int4":      intSeries(math.MinInt32, math.MaxInt32),
	"generate_series_step_int4": intSeries(math.MinInt32, math.MaxInt32),
	"generate_series_int8":      intSeries(math.MinInt64, math.MaxInt64),
	"generate_series_step_int8": intSeries(math.MinInt64, math.MaxInt64),
	"generate_series_numeric":   numericSeries, "generate_series_step_numeric": numericSeries,
	"generate_series_timestamp": timeSeries, "generate_series_timestamptz": timeSeries,
}

func zeroStep() error {
	return pgerr.New(pgerr.InvalidParameterValue, "step size cannot equal zero")
}

func intSeries(low, high int64) SetFunc {
	return func(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
		n, end, step := a[0].N, a[1].N, int64(1)
		if len(a) > 2 {
			step = a[2].N
		}
		if step == 0 {
			return zeroStep()
		}
		row := make([]types.Datum, 1)
		for i := 0; step > 0 && n <= end || step < 0 && n >= end; i++ {
			if i&1023 == 1023 {
				if err := c.canceled(); err != nil {
					return err
				}
			}
			row[0] = types.NewInt(n)
			if err := emit(row); err != nil {
				return err
			}
			if step > 0 && n > high-step || step < 0 && n < low-step {
				return nil
			}
			n += step
		}
		return nil
	}
}

func numericSeries(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	step := types.NumericFromInt(1)
	if len(a) > 2 {
		step = a[2]
	}
	for i, name := range []string{"start value", "stop value", "step size"} {
		d := step
		if i < 2 {
			d = a[i]
		}
		if d.IsNaN() {
			return pgerr.New(pgerr.InvalidParameterValue, "%s cannot be NaN", name)
		}
		if types.NumericInfSign(d) != 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "%s cannot be infinity", name)
		}
	}
	direction := types.NumericSign(step)
	if direction == 0 {
		return zeroStep()
	}
	var err error
	row := make([]types.Datum, 1)
	for n := a[0]; types.CompareNumeric(n, a[1])*direction <= 0; {
		row[0] = n
		if err = emit(row); err != nil {
			return err
		}
		if err = c.canceled(); err != nil {
			return err
		}
		if n, err = types.NumericAdd(n, step); err != nil {
			return err
		}
	}
	return nil
}

// timeSeries steps by an interval, in the session's time zone if the bounds have one.
func timeSeries(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	direction := types.CompareInterval(a[2], types.NewInterval(0, 0, 0))
	if direction == 0 {
		return zeroStep()
	}
	loc := c.zoneOf(0)
	var err error
	row := make([]types.Datum, 1)
	for us := a[0].N; direction > 0 && us <= a[1].N || direction < 0 && us >= a[1].N; {
		row[0] = types.NewTimestamp(us)
		if err = emit(row); err != nil {
			return err
		}
		if err = c.canceled(); err != nil {
			return err
		}
		if us, err = types.TimestampAdd(us, a[2], loc); err != nil {
			return err
		}
	}
	return nil
}
