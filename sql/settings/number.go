package settings

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// units maps a base unit to the written units, and each of those to its size in base units.
var units = map[string]map[string]float64{
	"B":   {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40},
	"kB":  {"B": 1.0 / 1024, "kB": 1, "MB": 1 << 10, "GB": 1 << 20, "TB": 1 << 30},
	"8kB": {"B": 1.0 / 8192, "kB": 1.0 / 8, "MB": 128, "GB": 128 << 10, "TB": 128 << 20},
	"MB":  {"B": 1.0 / (1 << 20), "kB": 1.0 / 1024, "MB": 1, "GB": 1 << 10, "TB": 1 << 20},
	"ms":  {"us": 0.001, "ms": 1, "s": 1000, "min": 60000, "h": 3600000, "d": 86400000},
	"s":   {"us": 0.000001, "ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86400},
	"min": {"us": 0.001 / 60000, "ms": 1.0 / 60000, "s": 1.0 / 60, "min": 1, "h": 60, "d": 1440},
}

func (d *Definition) checkNumber(value string) (string, error) {
	n, err := d.parse(value)
	if err != nil {
		return "", err
	}
	if d.bounded && (n < d.Min || n > d.Max) {
		unit := ""
		if d.Unit != "" {
			unit = " " + d.Unit
		}
		return "", pgerr.New(pgerr.InvalidParameterValue,
			`%s%s is outside the valid range for parameter "%s" (%s .. %s)`,
			d.format(n), unit, d.Name, d.minText, d.maxText)
	}
	return d.format(n), nil
}

func (d *Definition) format(n float64) string {
	if d.Type == "integer" {
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

func (d *Definition) parse(value string) (float64, error) {
	s := strings.TrimSpace(value)
	if d.zero != "" && strings.EqualFold(s, d.zero) {
		return 0, nil
	}
	end := 0
	for end < len(s) && strings.IndexByte("0123456789.+-eExXabcdfABCDF", s[end]) >= 0 {
		end++
	}
	var n float64
	var err error
	for ; end > 0; end-- { // the longest prefix that is a number; the rest is the unit
		if n, err = parseNumber(s[:end]); err == nil {
			break
		}
	}
	if end == 0 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": "%s"`, d.Name, value)
	}
	unit := strings.TrimSpace(s[end:])
	if unit != "" {
		factor, ok := units[d.Unit][unit]
		if !ok {
			return 0, d.badUnit(value)
		}
		n *= factor
	}
	if d.Type == "integer" {
		n = math.RoundToEven(n)
	}
	return n, nil
}

func parseNumber(s string) (float64, error) {
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		return float64(i), nil
	}
	return strconv.ParseFloat(s, 64)
}

func (d *Definition) badUnit(value string) error {
	e := pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": "%s"`, d.Name, value)
	switch d.Unit {
	case "B", "kB", "8kB", "MB":
		return e.WithHint(`Valid units for this parameter are "B", "kB", "MB", "GB", and "TB".`)
	case "ms", "s", "min":
		return e.WithHint(`Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".`)
	}
	return e
}

// Show prints a canonical value as SHOW does: with the largest unit that divides it.
func (d *Definition) Show(value string) string {
	switch {
	case d.Unit == "":
		return d.Setting(value)
	case d.Type == "integer":
		return d.showInteger(value)
	case d.Type == "real":
		return d.showReal(value)
	}
	return value
}

// Setting prints a canonical value in the parameter's base unit, as pg_settings does.
func (d *Definition) Setting(value string) string {
	switch d.Name {
	case "data_directory_mode", "log_file_mode", "unix_socket_permissions":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return fmt.Sprintf("%04o", n)
		}
	case "archive_command":
		return "(disabled)" // archive_mode is off
	}
	if d.Type == "real" {
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			return shortFloat(n)
		}
	}
	return value
}

// shortFloat is C's %g.
func shortFloat(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }

func (d *Definition) showInteger(value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= 0 {
		return value
	}
	best, name := 1.0, d.Unit
	for unit, factor := range units[d.Unit] {
		if factor > best && float64(n) == math.Trunc(float64(n)/factor)*factor {
			best, name = factor, unit
		}
	}
	if best == 1 && d.Unit == "8kB" {
		return strconv.FormatInt(n*8, 10) + "kB"
	}
	return strconv.FormatInt(int64(float64(n)/best), 10) + name
}

// showReal uses the largest unit in which the value is whole, apart from rounding, or the smallest
// unit if there is none.
func (d *Definition) showReal(value string) string {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n <= 0 {
		return d.Setting(value)
	}
	byFactor := func(a, b string) int { return cmp.Compare(units[d.Unit][b], units[d.Unit][a]) }
	inUnit, name := n, d.Unit
	for _, unit := range slices.SortedFunc(maps.Keys(units[d.Unit]), byFactor) {
		inUnit, name = n/units[d.Unit][unit], unit
		if math.Abs(math.RoundToEven(inUnit)/inUnit-1) <= 1e-8 {
			break
		}
	}
	return shortFloat(inUnit) + name
}
