package types

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/pgerr"
)

// operation is a function of this package and the equivalent SQL for PostgreSQL; $1 … are the
// quoted arguments.
type operation struct {
	sql string
	fn  func(a []string) (string, error)
}

func mustIn(oid OID, s string) Datum {
	d, err := Input(oid, -1, s, nil)
	if err != nil {
		panic(err)
	}
	return d
}

func numOp(sql string, fn func(a, b Datum) (Datum, error)) operation {
	return operation{sql, func(a []string) (string, error) {
		y := Null
		if len(a) > 1 {
			y = mustIn(Numeric, a[1])
		}
		d, err := fn(mustIn(Numeric, a[0]), y)
		return Output(Numeric, d, nil), err
	}}
}

func numOp1(sql string, fn func(Datum) (Datum, error)) operation {
	return numOp(sql, func(a, _ Datum) (Datum, error) { return fn(a) })
}

var berlin, _ = time.LoadLocation("Europe/Berlin")
var berlinEnv = &Env{Zone: berlin}

func tsOut(us int64, err error, loc *time.Location) (string, error) {
	oid := Timestamp
	if loc != nil {
		oid = TimestampTZ
	}
	return Output(oid, NewTimestamp(us), berlinEnv), err
}

func ivOut(d Datum, err error) (string, error) { return Output(Interval, d, nil), err }

func tzIn(s string) int64 {
	d, err := Input(TimestampTZ, -1, s, berlinEnv)
	if err != nil {
		panic(err)
	}
	return d.N
}

func extractOp(sql string, oid OID, fn func(string, OID, Datum, *time.Location) (Datum, error), res OID) operation {
	return operation{sql, func(a []string) (string, error) {
		d, err := Input(oid, -1, a[1], berlinEnv)
		if err != nil {
			return "", err
		}
		n, err := fn(a[0], oid, d, berlin)
		if err == nil && n.IsNull() {
			return "NULL", nil
		}
		return Output(res, n, nil), err
	}}
}

func floatArg(s string) float64 { f, _ := ParseFloat(s, 64); return f }
func intArg(s string) int64     { n, _ := strconv.ParseInt(s, 10, 64); return n }

func operations() map[string]operation {
	ops := map[string]operation{
		"add":   numOp("$1::numeric + $2::numeric", NumericAdd),
		"sub":   numOp("$1::numeric - $2::numeric", NumericSub),
		"mul":   numOp("$1::numeric * $2::numeric", NumericMul),
		"div":   numOp("$1::numeric / $2::numeric", NumericDiv),
		"mod":   numOp("$1::numeric % $2::numeric", NumericMod),
		"divt":  numOp("div($1::numeric, $2::numeric)", NumericDivTrunc),
		"log2":  numOp("log($1::numeric, $2::numeric)", NumericLog),
		"power": numOp("power($1::numeric, $2::numeric)", NumericPower),
		"sqrt":  numOp1("sqrt($1::numeric)", NumericSqrt),
		"ln":    numOp1("ln($1::numeric)", NumericLn),
		"exp":   numOp1("exp($1::numeric)", NumericExp),
		"ceil":  numOp1("ceil($1::numeric)", NumericCeil),
		"floor": numOp1("floor($1::numeric)", NumericFloor),
		"abs":   numOp1("abs($1::numeric)", func(d Datum) (Datum, error) { return NumericAbs(d), nil }),
		"neg":   numOp1("- $1::numeric", func(d Datum) (Datum, error) { return NumericNeg(d), nil }),
		"trim":  numOp1("trim_scale($1::numeric)", func(d Datum) (Datum, error) { return NumericTrimScale(d), nil }),
		"toint4": numOp1("$1::numeric::int4", func(d Datum) (Datum, error) {
			n, err := NumericToInt(d, Int4)
			return NumericFromInt(n), err
		}),
		"toint8": numOp1("$1::numeric::int8", func(d Datum) (Datum, error) {
			n, err := NumericToInt(d, Int8)
			return NumericFromInt(n), err
		}),
		"toint2": numOp1("$1::numeric::int2", func(d Datum) (Datum, error) {
			n, err := NumericToInt(d, Int2)
			return NumericFromInt(n), err
		}),
		"tofloat": {"$1::numeric::float8", func(a []string) (string, error) {
			f, err := NumericToFloat(mustIn(Numeric, a[0]), 64)
			return Output(Float8, NewFloat8(f), nil), err
		}},
		"fromfloat": {"$1::float8::numeric", func(a []string) (string, error) {
			d, err := NumericFromFloat(floatArg(a[0]), 64)
			return Output(Numeric, d, nil), err
		}},
		"fromfloat4": {"$1::float4::numeric", func(a []string) (string, error) {
			d, err := NumericFromFloat(mustIn(Float4, a[0]).Float(), 32)
			return Output(Numeric, d, nil), err
		}},
		"round": {"round($1::numeric, $2::int)", func(a []string) (string, error) {
			d, err := NumericRound(mustIn(Numeric, a[0]), int32(intArg(a[1])))
			return Output(Numeric, d, nil), err
		}},
		"trunc": {"trunc($1::numeric, $2::int)", func(a []string) (string, error) {
			d, err := NumericTrunc(mustIn(Numeric, a[0]), int32(intArg(a[1])))
			return Output(Numeric, d, nil), err
		}},
		"cmp": {"case when $1::numeric < $2::numeric then -1 when $1::numeric = $2::numeric then 0 else 1 end",
			func(a []string) (string, error) {
				return strconv.Itoa(CompareNumeric(mustIn(Numeric, a[0]), mustIn(Numeric, a[1]))), nil
			}},
	}
	temporalOperations(ops)
	return ops
}

func temporalOperations(ops map[string]operation) {
	ops["ts+iv"] = operation{"$1::timestamp + $2::interval", func(a []string) (string, error) {
		us, err := TimestampAdd(mustIn(Timestamp, a[0]).N, mustIn(Interval, a[1]), nil)
		return tsOut(us, err, nil)
	}}
	ops["tz+iv"] = operation{"$1::timestamptz + $2::interval", func(a []string) (string, error) {
		us, err := TimestampAdd(tzIn(a[0]), mustIn(Interval, a[1]), berlin)
		return tsOut(us, err, berlin)
	}}
	ops["ts-ts"] = operation{"$1::timestamp - $2::timestamp", func(a []string) (string, error) {
		return ivOut(TimestampDiff(mustIn(Timestamp, a[0]).N, mustIn(Timestamp, a[1]).N))
	}}
	ops["age"] = operation{"age($1::timestamp, $2::timestamp)", func(a []string) (string, error) {
		return ivOut(Age(mustIn(Timestamp, a[0]).N, mustIn(Timestamp, a[1]).N))
	}}
	ops["trunc_ts"] = operation{"date_trunc($1, $2::timestamp)", func(a []string) (string, error) {
		us, err := TruncTimestamp(a[0], mustIn(Timestamp, a[1]).N, nil)
		return tsOut(us, err, nil)
	}}
	ops["trunc_tz"] = operation{"date_trunc($1, $2::timestamptz)", func(a []string) (string, error) {
		us, err := TruncTimestamp(a[0], tzIn(a[1]), berlin)
		return tsOut(us, err, berlin)
	}}
	ops["trunc_iv"] = operation{"date_trunc($1, $2::interval)", func(a []string) (string, error) {
		return ivOut(TruncInterval(a[0], mustIn(Interval, a[1])))
	}}
	for name, o := range map[string]OID{"date": Date, "timestamp": Timestamp, "timestamptz": TimestampTZ, "time": Time,
		"timetz": TimeTZ, "interval": Interval} {
		ops["extract_"+name] = extractOp("extract(^1 from $2::"+name+")", o, Extract, Numeric)
		ops["part_"+name] = extractOp("date_part($1, $2::"+name+")", o, DatePart, Float8)
	}
	ops["iv*"] = operation{"$1::interval * $2::float8", func(a []string) (string, error) {
		return ivOut(IntervalMul(mustIn(Interval, a[0]), floatArg(a[1])))
	}}
	ops["iv/"] = operation{"$1::interval / $2::float8", func(a []string) (string, error) {
		return ivOut(IntervalDiv(mustIn(Interval, a[0]), floatArg(a[1])))
	}}
	for name, fn := range map[string]func(Datum) (Datum, error){
		"justify_hours": JustifyHours, "justify_days": JustifyDays, "justify_interval": JustifyInterval,
	} {
		ops[name] = operation{name + "($1::interval)",
			func(a []string) (string, error) { return ivOut(fn(mustIn(Interval, a[0]))) }}
	}
	ops["bin"] = operation{"date_bin($1::interval, $2::timestamp, $3::timestamp)", func(a []string) (string, error) {
		us, err := DateBin(mustIn(Interval, a[0]), mustIn(Timestamp, a[1]).N, mustIn(Timestamp, a[2]).N)
		return tsOut(us, err, nil)
	}}
	ops["at_local"] = operation{"$1::timestamp at time zone $2", func(a []string) (string, error) {
		us, err := AtTimeZone(a[1], mustIn(Timestamp, a[0]).N, true)
		return tsOut(us, err, berlin)
	}}
	ops["at_utc"] = operation{"$1::timestamptz at time zone $2", func(a []string) (string, error) {
		us, err := AtTimeZone(a[1], tzIn(a[0]), false)
		return tsOut(us, err, nil)
	}}
	ops["make_date"] = operation{"make_date($1, $2, $3)", func(a []string) (string, error) {
		d, err := MakeDate(intArg(a[0]), intArg(a[1]), intArg(a[2]))
		return Output(Date, NewDate(d), nil), err
	}}
	ops["make_time"] = operation{"make_time($1, $2, $3)", func(a []string) (string, error) {
		d, err := MakeTime(intArg(a[0]), intArg(a[1]), floatArg(a[2]))
		return Output(Time, NewTime(d), nil), err
	}}
	ops["to_timestamp"] = operation{"to_timestamp($1::float8)", func(a []string) (string, error) {
		us, err := TimestampFromEpoch(floatArg(a[0]))
		return tsOut(us, err, berlin)
	}}
	ops["ivcmp"] = operation{"interval_cmp($1, $2)", func(a []string) (string, error) {
		return strconv.Itoa(CompareInterval(mustIn(Interval, a[0]), mustIn(Interval, a[1]))), nil
	}}
}

// TestOracleFunctions checks testdata/func.txt. Its last column is PostgreSQL's, and is updated as
// in TestOracle.
func TestOracleFunctions(t *testing.T) {
	const name = "testdata/func.txt"
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var conn *pgconn.PgConn
	if *rewrite {
		if conn, err = pgconn.Connect(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), "set timezone = 'Europe/Berlin'").ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	ops := operations()
	for n, line := range strings.Split(strings.TrimRight(string(b), "\n"), "\n") {
		call, want, _ := strings.Cut(line, "\t=> ")
		f := strings.Split(call, "\t")
		op, ok := ops[f[0]]
		if !ok {
			t.Fatalf("%s:%d: %q", name, n+1, line)
		}
		if *rewrite {
			want = askFunction(t, conn, op.sql, f[1:])
		}
		fmt.Fprintf(&out, "%s\t=> %s\n", call, want)
		got, err := runOperation(op, f[1:])
		var pe *pgerr.Error
		if errors.As(err, &pe) {
			got = errorText(pe.Code, pe.Message, pe.Detail, pe.Hint)
		} else if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:%d: %s\n got %s\nwant %s", name, n+1, call, got, want)
		}
	}
	if *rewrite {
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// runOperation returns the error of an argument that cannot be read as the operation's error.
func runOperation(op operation, args []string) (got string, err error) {
	defer func() {
		if e, ok := recover().(*pgerr.Error); ok {
			err = e
		}
	}()
	return op.fn(args)
}

func askFunction(t *testing.T, conn *pgconn.PgConn, sql string, args []string) string {
	for i, a := range args {
		sql = strings.ReplaceAll(sql, "$"+strconv.Itoa(i+1), "'"+a+"'")
		sql = strings.ReplaceAll(sql, "^"+strconv.Itoa(i+1), a)
	}
	r, err := conn.Exec(context.Background(), "select "+sql).ReadAll()
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return errorText(pe.Code, pe.Message, pe.Detail, pe.Hint)
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if r[0].Rows[0][0] == nil {
		return "NULL"
	}
	return string(r[0].Rows[0][0])
}
