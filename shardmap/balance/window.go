package balance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Windows are the times, in UTC, in which plans may be applied by themselves. The zero value is
// always.
type Windows []Window

// Window is a part of a day, of each day that it names; one that ends before it begins goes on into
// the next day.
type Window struct {
	days       [7]bool // by time.Weekday: on which it begins
	begin, end int     // minutes; end is above begin, up to two days
}

var windowForm = regexp.MustCompile(
	`^(?:([a-z]{3}(?:-[a-z]{3})?)\s+)?([0-2]?[0-9]):([0-5][0-9])\s*-\s*([0-2]?[0-9]):([0-5][0-9])$`,
)

var weekdays = map[string]time.Weekday{
	"sun": time.Sunday, "mon": time.Monday, "tue": time.Tuesday, "wed": time.Wednesday, "thu": time.Thursday,
	"fri": time.Friday, "sat": time.Saturday,
}

// ParseWindows reads windows such as '22:00-06:00' and 'mon-fri 01:00-05:00, sat 00:00-24:00'. The
// empty text is always.
func ParseWindows(text string) (Windows, error) {
	var out Windows
	for _, part := range strings.Split(text, ",") {
		part = strings.ToLower(strings.TrimSpace(part))
		if part == "" {
			continue
		}
		w, err := parseWindow(part)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

func parseWindow(part string) (w Window, err error) {
	m := windowForm.FindStringSubmatch(part)
	if m == nil {
		return w, fmt.Errorf("%q is not a window such as 22:00-06:00 or mon-fri 01:00-05:00", part)
	}
	if w.days, err = parseDays(m[1]); err != nil {
		return w, err
	}
	minutes := func(h, m string) int {
		a, _ := strconv.Atoi(h)
		b, _ := strconv.Atoi(m)
		return a*60 + b
	}
	w.begin, w.end = minutes(m[2], m[3]), minutes(m[4], m[5])
	const day = 24 * 60
	if w.begin >= day || w.end > day {
		return w, fmt.Errorf("%q is not a time of day", part)
	}
	if w.end <= w.begin {
		w.end += day
	}
	return w, nil
}

func parseDays(text string) (days [7]bool, err error) {
	if text == "" {
		return [7]bool{true, true, true, true, true, true, true}, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	from, ok := weekdays[first]
	to := from
	if isRange && ok {
		to, ok = weekdays[last]
	}
	if !ok {
		return days, fmt.Errorf("%q is not a day of the week such as mon or sat-sun", text)
	}
	for d := from; ; d = (d + 1) % 7 {
		if days[d] = true; d == to {
			return days, nil
		}
	}
}

// Open reports whether a time lies in one of the windows.
func (w Windows) Open(t time.Time) bool {
	if len(w) == 0 {
		return true
	}
	t = t.UTC()
	now, today := t.Hour()*60+t.Minute(), t.Weekday()
	for _, x := range w {
		if x.days[today] && now >= x.begin && now < x.end || x.days[(today+6)%7] && now+24*60 < x.end {
			return true
		}
	}
	return false
}
