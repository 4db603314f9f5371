package jsonpath

// datetimeKind is one of the date and time types that datetime() gives.
type datetimeKind uint8

const (
	kindDate datetimeKind = iota
	kindTime
	kindTimetz
	kindTimestamp
	kindTimestamptz
)

// String names the type as .type() does.
func (k datetimeKind) String() string {
	return [...]string{"date", "time without time zone", "time with time zone", "timestamp without time zone",
		"timestamp with time zone"}[k]
}

// datetime is a date or time.
type datetime struct {
	kind   datetimeKind
	days   int64 // of dates and timestamps: since 1970-01-01
	micros int64 // of the day; local
	zone   int   // seconds east of UTC, of the kinds that have a zone
}
