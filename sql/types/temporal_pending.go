package types

import "github.com/sherddb/sherd/internal/pgerr"

func pendingType(oid OID) (Datum, error) {
	return Null, pgerr.Unsupported("text form of %s is not supported yet", TypeName(oid))
}

func parseDate(string, *Env) (Datum, error)                { return pendingType(Date) }
func parseTime(string, *Env) (Datum, error)                { return pendingType(Time) }
func parseTimeTZ(string, *Env) (Datum, error)              { return pendingType(TimeTZ) }
func parseTimestamp(string, *Env) (Datum, error)           { return pendingType(Timestamp) }
func parseTimestampTZ(string, *Env) (Datum, error)         { return pendingType(TimestampTZ) }
func parseInterval(string, int32, *Env) (Datum, error)     { return pendingType(Interval) }
func parseMoney(string) (Datum, error)                     { return pendingType(Money) }
func parseJSONPath(string) (Datum, error)                  { return pendingType(JSONPath) }
func appendMoney(dst []byte, n int64) []byte               { return AppendInt(dst, n) }
func appendDate(dst []byte, n int64, _ *Env) []byte        { return AppendInt(dst, n) }
func appendTime(dst []byte, n int64) []byte                { return AppendInt(dst, n) }
func appendTimeTZ(dst []byte, d Datum) []byte              { return AppendInt(dst, d.N) }
func appendTimestamp(dst []byte, n int64, _ *Env) []byte   { return AppendInt(dst, n) }
func appendTimestampTZ(dst []byte, n int64, _ *Env) []byte { return AppendInt(dst, n) }
func appendInterval(dst []byte, d Datum, _ *Env) []byte    { return AppendInt(dst, d.N) }
func roundMicros(n int64, _ int32) int64                   { return n }
func applyTimestampTypmod(_ int32, d Datum) (Datum, error) { return d, nil }
func applyIntervalTypmod(_ int32, d Datum) (Datum, error)  { return d, nil }
