package builtin

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// sysSize has sizes of objects, and encodings.
var sysSize = map[string]Func{
	"pg_size_pretty": sizePretty, "pg_size_pretty_numeric": sizePrettyNumeric, "pg_size_bytes": sizeBytes,
	"pg_relation_size": relationSize, "pg_relation_size(2205)": relationSize, "pg_table_size": relationSize,
	"pg_indexes_size": indexesSize, "pg_total_relation_size": totalSize,
	"pg_tablespace_size_oid": tablespaceSizeOid, "pg_tablespace_size_name": tablespaceSizeName,
	"pg_database_size_oid": databaseSizeOid, "pg_database_size_name": databaseSizeName,
	"PG_encoding_to_char":        encodingToChar,
	"PG_char_to_encoding":        charToEncoding,
	"pg_encoding_max_length_sql": encodingMaxLength,
	"getdatabaseencoding":        func(*Ctx, []types.Datum) (types.Datum, error) { return types.NewText("UTF8"), nil },
	"pg_client_encoding":         func(*Ctx, []types.Datum) (types.Datum, error) { return types.NewText("UTF8"), nil },
	"pg_column_size":             columnSize, "pg_num_nulls": numNulls, "pg_num_nonnulls": numNonNulls,
	"sherd_bucket": sherdBucket, "sherd_slice": sherdSlice, "sherd_placed": sherdPlaced,
	"nextval_oid": nextval,
	"currval_oid": currval,
	"lastval":     onSession(lastval),
	"setval_oid":  setval,
	"setval3_oid": setval,
	"pg_notify":   notify,
	"pg_notification_queue_usage": onSession(func(s SessionInfo) (types.Datum,
		error) {
		return types.NewFloat8(s.NotificationUsage()), nil
	}),
	"pg_sequence_last_value": sequenceLastValue, "pg_sequence_parameters": sequenceParameters,
}

var sysSets = map[string]SetFunc{
	"pg_options_to_table":     optionsToTable,
	"pg_partition_ancestors":  noRows,
	"pg_partition_tree":       noRows,
	"pg_tablespace_databases": noRows,
	"pg_listening_channels":   listeningChannels,

	"pg_stats_ext_mcvlist_items": commonRows,
}

// CommonRows returns the value of type pg_mcv_list for the common rows of a statistics object, from
// four arrays: the texts of their values and whether each is null, both of two dimensions, their
// shares, and their shares if the columns were independent.
func CommonRows(arrays []types.Datum) types.Datum {
	return types.NewBytes(string(types.AppendRow(nil, arrays)))
}

// commonRows is pg_mcv_list_items.
func commonRows(_ *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	var r types.RowReader
	if err := r.ResetString(a[0].S); err != nil {
		return err
	}
	lists := make([][]types.Datum, r.Len())
	for i := range lists {
		d, _, err := r.Column(i, types.KindArray)
		if err != nil {
			return err
		}
		list, err := types.ArrayOf(d)
		if err != nil {
			return err
		}
		lists[i] = list.Elems()
	}
	values, nulls, shares, base := lists[0], lists[1], lists[2], lists[3]
	width := len(values) / len(shares)
	for i := range shares {
		from, to := i*width, (i+1)*width
		err := emit([]types.Datum{
			types.NewInt(int64(i)), types.NewList(types.Text, values[from:to]),
			types.NewList(types.Bool, nulls[from:to]), shares[i], base[i],
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var sizeUnits = []struct {
	name  string
	limit int64 // smaller values are shown in this unit
	shift uint  // bits to shift to the next unit
	half  bool  // the value has one extra bit below the unit, for rounding
}{
	{"bytes", 10 * 1024, 9, false}, {"kB", 20*1024 - 1, 10, true}, {"MB", 20*1024 - 1, 10, true},
	{"GB", 20*1024 - 1, 10, true},
	{"TB", 20*1024 - 1, 10, true}, {"PB", 20*1024 - 1, 10, true},
}

// sizePretty shifts as PostgreSQL does: it keeps one bit more than the unit, for rounding.
func sizePretty(_ *Ctx, a []types.Datum) (types.Datum, error) {
	size := a[0].N
	for i, u := range sizeUnits {
		if i == len(sizeUnits)-1 || magnitude(size) < uint64(u.limit) {
			if u.half {
				if size < 0 {
					size = (size - 1) / 2
				} else {
					size = (size + 1) / 2
				}
			}
			return types.NewText(strconv.FormatInt(size, 10) + " " + u.name), nil
		}
		size /= 1 << u.shift
	}
	return types.Null, nil
}

func sizePrettyNumeric(_ *Ctx, a []types.Datum) (types.Datum, error) {
	size, err := a[0], error(nil)
	if size.IsNaN() || types.NumericInfSign(size) != 0 {
		return types.NewText(types.Output(types.Numeric, size, nil) + " bytes"), nil
	}
	for i, u := range sizeUnits {
		if i == len(sizeUnits)-1 || types.CompareNumeric(types.NumericAbs(size), types.NumericFromInt(u.limit)) < 0 {
			if u.half {
				one := types.NumericFromInt(int64(types.NumericSign(size)))
				if size, err = types.NumericAdd(size, one); err == nil {
					size, err = types.NumericDivTrunc(size, types.NumericFromInt(2))
				}
			}
			return types.NewText(types.Output(types.Numeric, size, nil) + " " + u.name), err
		}
		if size, err = types.NumericDivTrunc(size, types.NumericFromInt(1<<u.shift)); err != nil {
			return types.Null, err
		}
	}
	return types.Null, nil
}

func sizeBytes(_ *Ctx, a []types.Datum) (types.Datum, error) {
	s := strings.Trim(a[0].S, " \t\n\v\f\r")
	end := 0
	for end < len(s) && strings.IndexByte("0123456789.+-eE", s[end]) >= 0 &&
		!(s[end]|0x20 == 'e' && !exponentAt(s, end)) {
		end++
	}
	number, err := types.ParseNumeric(s[:end])
	if err != nil || end == 0 {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid size: \"%s\"", a[0].S)
	}
	unit := strings.Trim(s[end:], " \t\n\v\f\r")
	if unit != "" {
		shift, ok := map[string]uint{"bytes": 0, "b": 0, "kb": 10, "mb": 20, "gb": 30, "tb": 40,
			"pb": 50}[strings.ToLower(unit)]
		if !ok {
			return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid size: \"%s\"", a[0].S).
				WithDetail("Invalid size unit: \"%s\".", unit).
				WithHint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".")
		}
		if number, err = types.NumericMul(number, types.NumericFromInt(1<<shift)); err != nil {
			return types.Null, err
		}
	}
	n, err := types.NumericToInt(number, types.Int8)
	return types.NewInt(n), err
}

// exponentAt reports whether an e belongs to an exponent, not to a unit.
func exponentAt(s string, at int) bool {
	rest := strings.TrimLeft(s[at+1:], "+-")
	return rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// sizeOf returns the size of the relation or database in argument 0.
func (c *Ctx) sizeOf(oid uint32, f func(SessionInfo, uint32) (int64, bool, error)) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	n, ok, err := f(s, oid)
	if err != nil || !ok {
		return types.Null, err
	}
	return types.NewInt(n), nil
}

// relationSize returns the size of the main fork; there are no others.
func relationSize(c *Ctx, a []types.Datum) (types.Datum, error) {
	if len(a) > 1 {
		switch a[1].S {
		case "main":
		case "fsm", "vm", "init":
			return types.NewInt(0), nil
		default:
			return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid fork name").
				WithHint("Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".")
		}
	}
	return c.sizeOf(a[0].Oid(), SessionInfo.RelationSize)
}

func indexesSize(c *Ctx, a []types.Datum) (types.Datum, error) {
	return c.sizeOf(a[0].Oid(), SessionInfo.IndexesSize)
}

func totalSize(c *Ctx, a []types.Datum) (types.Datum, error) {
	table, err := c.sizeOf(a[0].Oid(), SessionInfo.RelationSize)
	if err != nil || table.IsNull() {
		return table, err
	}
	indexes, err := c.sizeOf(a[0].Oid(), SessionInfo.IndexesSize)
	return types.NewInt(table.N + indexes.N), err
}

func databaseSizeOid(c *Ctx, a []types.Datum) (types.Datum, error) {
	return c.sizeOf(a[0].Oid(), SessionInfo.DatabaseSize)
}

func databaseSizeName(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	oid, ok, err := s.FindObject(ObjDatabase, QuoteIdent(a[0].S))
	if err == nil && !ok {
		err = pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", a[0].S)
	}
	if err != nil {
		return types.Null, err
	}
	return c.sizeOf(oid, SessionInfo.DatabaseSize)
}

// defaultTablespace has all data: no other tablespace can have databases.
const (
	defaultTablespace = 1663
	globalTablespace  = 1664
)

func tablespaceSizeOid(c *Ctx, a []types.Datum) (types.Datum, error) {
	switch a[0].Oid() {
	case defaultTablespace:
		return c.sizeOf(0, SessionInfo.DatabaseSize)
	case globalTablespace:
		return types.NewInt(0), nil
	}
	return types.Null, nil
}

func tablespaceSizeName(c *Ctx, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	oid, ok, err := s.FindObject(ObjTablespace, QuoteIdent(a[0].S))
	if err == nil && !ok {
		err = pgerr.New(pgerr.UndefinedObject, "tablespace \"%s\" does not exist", a[0].S)
	}
	if err != nil {
		return types.Null, err
	}
	return tablespaceSizeOid(c, []types.Datum{types.NewOid(oid)})
}

// encodings are the encodings' names by number, as in pg_enc.
var encodings = []string{
	"SQL_ASCII", "EUC_JP", "EUC_CN", "EUC_KR", "EUC_TW", "EUC_JIS_2004", "UTF8", "MULE_INTERNAL", "LATIN1", "LATIN2",
	"LATIN3", "LATIN4",
	"LATIN5", "LATIN6", "LATIN7", "LATIN8", "LATIN9", "LATIN10", "WIN1256", "WIN1258", "WIN866", "WIN874", "KOI8R",
	"WIN1251", "WIN1252",
	"ISO_8859_5", "ISO_8859_6", "ISO_8859_7", "ISO_8859_8", "WIN1250", "WIN1253", "WIN1254", "WIN1255", "WIN1257",
	"KOI8U",
	"SJIS", "BIG5", "GBK", "UHC", "GB18030", "JOHAB", "SHIFT_JIS_2004",
}

const utf8Encoding = 6

func encodingToChar(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if n := a[0].N; n >= 0 && n < int64(len(encodings)) {
		return types.NewText(encodings[n]), nil
	}
	return types.NewText(""), nil
}

func charToEncoding(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if isUTF8Name(a[0].S) {
		return types.NewInt(utf8Encoding), nil
	}
	fold := strings.NewReplacer("-", "", "_", "", " ", "")
	for i, name := range encodings {
		if strings.EqualFold(fold.Replace(name), fold.Replace(a[0].S)) {
			return types.NewInt(int64(i)), nil
		}
	}
	return types.NewInt(-1), nil
}

func encodingMaxLength(_ *Ctx, a []types.Datum) (types.Datum, error) {
	switch n := a[0].N; {
	case n == utf8Encoding:
		return types.NewInt(4), nil
	case n == 0 || n >= 8 && n <= 34:
		return types.NewInt(1), nil
	}
	return types.Null, nil
}

// columnSize returns the size of a value in a row of Sherd. A type of fixed length has that length.
func columnSize(c *Ctx, a []types.Datum) (types.Datum, error) {
	if t := pgcatalog.TypeByOID(c.argType(0)); t != nil && t.Len > 0 {
		return types.NewInt(int64(t.Len)), nil
	}
	return types.NewInt(int64(len(types.AppendRow(nil, a[:1])) - len(types.AppendRow(nil, []types.Datum{types.Null})))),
		nil
}

func countNulls(c *Ctx, a []types.Datum) (nulls, total int64, ok bool, err error) {
	args, _, ok, err := c.variadicArgs(a)
	for _, d := range args {
		if d.IsNull() {
			nulls++
		}
	}
	return nulls, int64(len(args)), ok, err
}

func numNulls(c *Ctx, a []types.Datum) (types.Datum, error) {
	nulls, _, ok, err := countNulls(c, a)
	if !ok {
		return types.Null, err
	}
	return types.NewInt(nulls), err
}

func numNonNulls(c *Ctx, a []types.Datum) (types.Datum, error) {
	nulls, total, ok, err := countNulls(c, a)
	if !ok {
		return types.Null, err
	}
	return types.NewInt(total - nulls), err
}
