package builtin

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// timeToChar is to_char of timestamps and intervals.
var timeToChar = map[string]Func{
	"timestamp_to_char": timestampToChar, "timestamptz_to_char": timestamptzToChar, "interval_to_char": intervalToChar,
}

// clock is a point in time, or an interval, split into the parts of templates.
type clock struct {
	year, month, day  int // year 0 is 1 BC
	hour, minute, sec int
	micro             int
	yearDay, weekDay  int
	isoYear, isoWeek  int
	julian            int
	zone              string
	offset            int // seconds east
	interval, instant bool
}

func clockOf(t time.Time) clock {
	c := clock{
		year: t.Year(), month: int(t.Month()), day: t.Day(), hour: t.Hour(), minute: t.Minute(), sec: t.Second(),
		micro: t.Nanosecond() / 1000, yearDay: t.YearDay(), weekDay: int(t.Weekday()),
	}
	c.isoYear, c.isoWeek = t.ISOWeek()
	const julianOfUnix = 2440588
	_, offset := t.Zone()
	seconds := t.Unix() + int64(offset)
	days := seconds / 86400
	if seconds%86400 < 0 {
		days--
	}
	c.julian = int(days) + julianOfUnix
	return c
}

// timeOf returns the Go time of microseconds since 2000.
func timeOf(us int64) time.Time {
	seconds, rest := us/usSecond, us%usSecond
	return time.Unix(seconds+epochUnix, rest*1000).UTC()
}

func timestampToChar(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[1].S == "" || isInfinite(a[0].N) {
		return types.Null, nil
	}
	c := clockOf(timeOf(a[0].N))
	return c.format(a[1].S)
}

func timestamptzToChar(ctx *Ctx, a []types.Datum) (types.Datum, error) {
	if a[1].S == "" || isInfinite(a[0].N) {
		return types.Null, nil
	}
	t := timeOf(a[0].N).In(ctx.zone())
	c := clockOf(t)
	c.zone, c.offset = t.Zone()
	c.instant = true
	return c.format(a[1].S)
}

func intervalToChar(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[1].S == "" {
		return types.Null, nil
	}
	months, days, us := types.IntervalParts(a[0])
	c := clock{year: int(months) / 12, month: int(months) % 12, day: int(days), interval: true}
	c.hour, us = int(us/(3600*usSecond)), us%(3600*usSecond)
	c.minute, us = int(us/(60*usSecond)), us%(60*usSecond)
	c.sec, c.micro = int(us/usSecond), int(us%usSecond)
	c.yearDay = int(months)*30 + int(days)
	return c.format(a[1].S)
}

func (c *clock) format(template string) (types.Datum, error) {
	var b strings.Builder
	for _, f := range parseDateTemplate(template) {
		if f.key == "" {
			b.WriteString(f.literal)
			continue
		}
		if f.TM && strings.Contains("MONTH MON DAY DY", f.key) {
			f.fill = true
		}
		s, number, err := c.field(&f)
		if err != nil {
			return types.Null, err
		}
		b.WriteString(s)
		if number && f.ordinal != "" {
			b.WriteString(ordinalOf(s, f.ordinal))
		}
	}
	return types.NewText(b.String()), nil
}

// ordinalOf returns st, nd, rd or th for a number, in the case of suffix.
func ordinalOf(number, suffix string) string {
	last := number[len(number)-1]
	text := "th"
	if len(number) < 2 || number[len(number)-2] != '1' {
		switch last {
		case '1':
			text = "st"
		case '2':
			text = "nd"
		case '3':
			text = "rd"
		}
	}
	if suffix == "TH" {
		return strings.ToUpper(text)
	}
	return text
}

// padded formats a number with leading zeros, without them for FM. A sign adds to the width.
func padded(n, width int, f *dateField) (string, bool, error) {
	if f.fill {
		return strconv.Itoa(n), true, nil
	}
	if n < 0 {
		width++
	}
	return fmt.Sprintf("%0*d", width, n), true, nil
}

// paddedDays is padded, but a sign counts as part of the width.
func paddedDays(n, width int, f *dateField) (string, bool, error) {
	if n < 0 {
		width--
	}
	return padded(n, width, f)
}

// cased formats a name in the case of the field, padded with blanks to width.
func cased(name string, width int, f *dateField) (string, bool, error) {
	switch {
	case f.lower:
		name = strings.ToLower(name)
	case !f.mixed:
		name = strings.ToUpper(name)
	}
	if f.fill {
		width = 0
	}
	return fmt.Sprintf("%-*s", width, name), false, nil
}

func notForIntervals() error {
	return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid format specification for an interval value").
		WithHint("Intervals are not tied to specific calendar dates.")
}

// shownYear returns the year in conventional numbering: 1 BC is 1.
func (c *clock) shownYear(year int) int {
	if !c.interval && year <= 0 {
		return 1 - year
	}
	return year
}

func (c *clock) field(f *dateField) (s string, number bool, err error) {
	switch f.key {
	case "HH", "HH12":
		hour := c.hour % 12
		if hour == 0 {
			hour = 12
		}
		return padded(hour, 2, f)
	case "HH24":
		return padded(c.hour, 2, f)
	case "MI":
		return padded(c.minute, 2, f)
	case "SS":
		return padded(c.sec, 2, f)
	case "MS":
		return fmt.Sprintf("%03d", c.micro/1000), true, nil
	case "US":
		return fmt.Sprintf("%06d", c.micro), true, nil
	case "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		return fmt.Sprintf("%06d", c.micro)[:f.key[2]-'0'], true, nil
	case "SSSS", "SSSSS":
		return strconv.Itoa(c.hour*3600 + c.minute*60 + c.sec), true, nil
	case "AM", "PM", "A.M.", "P.M.":
		return cased(c.halfDay(f.key), 0, f)
	case "Y,YYY", "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I", "CC":
		return c.yearField(f)
	case "MM":
		return padded(c.month, 2, f)
	case "Q":
		if c.month == 0 {
			return "", false, nil
		}
		return strconv.Itoa((c.month-1)/3 + 1), true, nil
	case "DDD":
		return paddedDays(c.yearDay, 3, f)
	case "DD":
		return paddedDays(c.day, 2, f)
	case "RM":
		return c.romanMonth(f)
	}
	if c.interval {
		return "", false, notForIntervals()
	}
	return c.calendarField(f)
}

func (c *clock) halfDay(key string) string {
	name := "A" + key[1:]
	if c.hour%24 >= 12 {
		name = "P" + key[1:]
	}
	return name
}

func (c *clock) yearField(f *dateField) (string, bool, error) {
	year := c.year
	if f.key[0] == 'I' {
		if c.interval {
			return "", false, notForIntervals()
		}
		year = c.isoYear
	}
	shown := c.shownYear(year)
	switch f.key {
	case "CC":
		century := c.year / 100
		switch {
		case !c.interval && c.year > 0:
			century = (c.year-1)/100 + 1
		case !c.interval:
			century = c.year/100 - 1
		}
		return padded(century, 2, f)
	case "Y,YYY":
		return fmt.Sprintf("%d,%03d", shown/1000, shown%1000), true, nil
	case "YYYY", "IYYY":
		return padded(shown, 4, f)
	case "YYY", "IYY":
		return padded(shown%1000, 3, f)
	case "YY", "IY":
		return padded(shown%100, 2, f)
	}
	return padded(shown%10, 1, f)
}

var romanMonths = []string{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"}

func (c *clock) romanMonth(f *dateField) (string, bool, error) {
	month := c.month
	switch {
	case month == 0 && c.year == 0:
		return "", false, nil
	case month == 0: // of an interval of whole years
		month = 12
		if c.year < 0 {
			month = 1
		}
	case month < 0:
		month += 13
	}
	return cased(romanMonths[month-1], 4, f)
}

// calendarField formats the fields that only a date has.
func (c *clock) calendarField(f *dateField) (string, bool, error) {
	switch f.key {
	case "AD", "BC", "A.D.", "B.C.":
		name := "AD"
		if c.year <= 0 {
			name = "BC"
		}
		if strings.Contains(f.key, ".") {
			name = name[:1] + "." + name[1:] + "."
		}
		return cased(name, 0, f)
	case "MONTH":
		return cased(time.Month(c.month).String(), 9, f)
	case "MON":
		return cased(time.Month(c.month).String()[:3], 0, f)
	case "DAY":
		return cased(time.Weekday(c.weekDay).String(), 9, f)
	case "DY":
		return cased(time.Weekday(c.weekDay).String()[:3], 0, f)
	case "D":
		return strconv.Itoa(c.weekDay + 1), true, nil
	case "ID":
		return strconv.Itoa((c.weekDay+6)%7 + 1), true, nil
	case "IDDD":
		return padded((c.isoWeek-1)*7+(c.weekDay+6)%7+1, 3, f)
	case "WW":
		return padded((c.yearDay-1)/7+1, 2, f)
	case "IW":
		return padded(c.isoWeek, 2, f)
	case "W":
		return strconv.Itoa((c.day-1)/7 + 1), true, nil
	case "J":
		return strconv.Itoa(c.julian), true, nil
	}
	return c.zoneField(f)
}

func (c *clock) zoneField(f *dateField) (string, bool, error) {
	sign, east := byte('+'), c.offset
	if east < 0 {
		sign, east = '-', -east
	}
	switch f.key {
	case "TZ":
		if f.lower {
			return strings.ToLower(c.zone), false, nil
		}
		return c.zone, false, nil
	case "TZH":
		return fmt.Sprintf("%c%02d", sign, east/3600), false, nil
	case "TZM":
		return fmt.Sprintf("%02d", east%3600/60), false, nil
	}
	width := 2
	if f.fill {
		width = 0
	}
	s := fmt.Sprintf("%c%0*d", sign, width, east/3600)
	if minutes := east % 3600 / 60; minutes != 0 {
		s += fmt.Sprintf(":%02d", minutes)
	}
	return s, false, nil
}
