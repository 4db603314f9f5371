package types

import "strings"

// fieldType is the scanner's classification of a field of a date/time text.
type fieldType uint8

const (
	fieldNumber fieldType = iota
	fieldDate
	fieldTime
	fieldZone
	fieldString
	fieldSpecial
)

type field struct {
	text string
	typ  fieldType
}

const (
	maxDateFields = 25
	maxDateText   = 128 + maxDateFields
)

// dtError is the reason why a date/time text cannot be read. The callers map it to PostgreSQL's
// error.
type dtError uint8

const (
	dtOK dtError = iota
	dtBadFormat
	dtOverflow
	dtMonthDayOverflow
	dtIntervalOverflow
	dtZoneOverflow
	dtTimeOnly // not an error: a time without a date
	dtZoneName // unknown zone; its name is in the decoder
)

// scanDateTime splits a text into fields by their first character and what follows it, in lower
// case.
func scanDateTime(s string) ([]field, dtError) {
	if len(s) > maxDateText {
		return nil, dtBadFormat
	}
	var fields []field
	for i := 0; i < len(s); {
		c := s[i]
		if isSpace(c) {
			i++
			continue
		}
		var f field
		switch {
		case isDigit(c):
			f, i = scanNumber(s, i)
		case c == '.':
			j := skipDigits(s, i+1)
			f, i = field{s[i:j], fieldNumber}, j
		case isAlpha(c):
			f, i = scanWord(s, i)
		case c == '+' || c == '-':
			var ok bool
			if f, i, ok = scanSigned(s, i); !ok {
				return nil, dtBadFormat
			}
		case c > ' ' && c < 0x7f:
			i++
			continue
		default:
			return nil, dtBadFormat
		}
		if len(fields) >= maxDateFields {
			return nil, dtBadFormat
		}
		f.text = strings.ToLower(f.text)
		fields = append(fields, f)
	}
	return fields, dtOK
}

func skipDigits(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

// scanNumber scans a field that starts with a digit: a number, a time with colons, a date with
// delimiters.
func scanNumber(s string, i int) (field, int) {
	j := skipDigits(s, i)
	if j == len(s) {
		return field{s[i:j], fieldNumber}, j
	}
	switch delim := s[j]; delim {
	case ':':
		for j++; j < len(s) && (isDigit(s[j]) || s[j] == ':' || s[j] == '.'); j++ {
		}
		return field{s[i:j], fieldTime}, j
	case '-', '/', '.':
		j++
		if j < len(s) && isDigit(s[j]) {
			typ := fieldDate
			if delim == '.' {
				typ = fieldNumber
			}
			j = skipDigits(s, j)
			if j < len(s) && s[j] == delim {
				typ = fieldDate
				for j++; j < len(s) && (isDigit(s[j]) || s[j] == delim); j++ {
				}
			}
			return field{s[i:j], typ}, j
		}
		for j < len(s) && (isDigit(s[j]) || isAlpha(s[j]) || s[j] == delim) {
			j++
		}
		return field{s[i:j], fieldDate}, j
	}
	return field{s[i:j], fieldNumber}, j
}

// scanWord scans a word. With punctuation inside, it is a date or the name of a zone.
func scanWord(s string, i int) (field, int) {
	j := i
	for j < len(s) && isAlpha(s[j]) {
		j++
	}
	isDate := false
	if j < len(s) {
		switch c := s[j]; {
		case c == '-' || c == '/' || c == '.':
			isDate = true
		case c == '+' || isDigit(c):
			_, known := dateWords[strings.ToLower(s[i:j])]
			isDate = !known
		}
	}
	if !isDate {
		return field{s[i:j], fieldString}, j
	}
	for j < len(s) && (isDigit(s[j]) || isAlpha(s[j]) || strings.IndexByte("+-/_.:", s[j]) >= 0) {
		j++
	}
	return field{s[i:j], fieldDate}, j
}

func scanSigned(s string, i int) (field, int, bool) {
	sign := s[i : i+1]
	for i++; i < len(s) && isSpace(s[i]); i++ {
	}
	j := i
	switch {
	case i < len(s) && isDigit(s[i]):
		for j < len(s) && (isDigit(s[j]) || strings.IndexByte(":.-", s[j]) >= 0) {
			j++
		}
		return field{sign + s[i:j], fieldZone}, j, true
	case i < len(s) && isAlpha(s[i]):
		for j < len(s) && isAlpha(s[j]) {
			j++
		}
		return field{sign + s[i:j], fieldSpecial}, j, true
	}
	return field{}, i, false
}

// wordType is the meaning of a word in a date.
type wordType uint8

const (
	wordUnknown wordType = iota
	wordIgnore
	wordReserved
	wordMonth
	wordWeekday
	wordAMPM
	wordEra
	wordUnits
	wordISOTime
	wordDST
)

// Values of reserved words and units.
const (
	resNow = iota + 1
	resYesterday
	resToday
	resTomorrow
	resZulu
	resEpoch
	resInfinity
	resNegInfinity

	unitJulian
	unitTime
	unitYear
	unitMonth
	unitDay
	unitHour
	unitMinute
	unitSecond
	unitOther
)

const (
	meridiemNone = iota
	meridiemAM
	meridiemPM
)

type dateWord struct {
	typ wordType
	val int
}

var dateWords = map[string]dateWord{
	"-infinity": {wordReserved, resNegInfinity},
	"infinity":  {wordReserved, resInfinity},
	"+infinity": {wordReserved, resInfinity},
	"ad":        {wordEra, 0},
	"bc":        {wordEra, 1},
	"allballs":  {wordReserved, resZulu},
	"am":        {wordAMPM, meridiemAM},
	"pm":        {wordAMPM, meridiemPM},
	"at":        {wordIgnore, 0},
	"on":        {wordIgnore, 0},
	"epoch":     {wordReserved, resEpoch},
	"now":       {wordReserved, resNow},
	"today":     {wordReserved, resToday},
	"tomorrow":  {wordReserved, resTomorrow},
	"yesterday": {wordReserved, resYesterday},
	"dst":       {wordDST, 3600},
	"t":         {wordISOTime, unitTime},
	"j":         {wordUnits, unitJulian},
	"jd":        {wordUnits, unitJulian},
	"julian":    {wordUnits, unitJulian},
	"d":         {wordUnits, unitDay},
	"dow":       {wordUnits, unitOther},
	"doy":       {wordUnits, unitOther},
	"h":         {wordUnits, unitHour},
	"isodow":    {wordUnits, unitOther},
	"isoyear":   {wordUnits, unitOther},
	"m":         {wordUnits, unitMonth},
	"mm":        {wordUnits, unitMinute}, "s": {wordUnits, unitSecond}, "y": {wordUnits, unitYear},
	"jan":       {wordMonth, 1},
	"january":   {wordMonth, 1},
	"feb":       {wordMonth, 2},
	"february":  {wordMonth, 2},
	"mar":       {wordMonth, 3},
	"march":     {wordMonth, 3},
	"apr":       {wordMonth, 4},
	"april":     {wordMonth, 4},
	"may":       {wordMonth, 5},
	"jun":       {wordMonth, 6},
	"june":      {wordMonth, 6},
	"jul":       {wordMonth, 7},
	"july":      {wordMonth, 7},
	"aug":       {wordMonth, 8},
	"august":    {wordMonth, 8},
	"sep":       {wordMonth, 9},
	"sept":      {wordMonth, 9},
	"september": {wordMonth, 9},
	"oct":       {wordMonth, 10},
	"october":   {wordMonth, 10},
	"nov":       {wordMonth, 11}, "november": {wordMonth, 11}, "dec": {wordMonth, 12}, "december": {wordMonth, 12},
	"sun":    {wordWeekday, 0},
	"sunday": {wordWeekday, 0},
	"mon":    {wordWeekday, 1},
	"monday": {wordWeekday, 1},
	"tue":    {wordWeekday, 2},
	"tues":   {wordWeekday, 2}, "tuesday": {wordWeekday, 2}, "wed": {wordWeekday, 3}, "weds": {wordWeekday, 3},
	"wednesday": {wordWeekday, 3}, "thu": {wordWeekday, 4}, "thur": {wordWeekday, 4}, "thurs": {wordWeekday, 4},
	"thursday": {wordWeekday, 4},
	"fri":      {wordWeekday, 5},
	"friday":   {wordWeekday, 5},
	"sat":      {wordWeekday, 6},
	"saturday": {wordWeekday, 6},
}
