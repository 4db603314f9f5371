// Package pgerr is the one error that clients see: a SQLSTATE with message, detail and hint.
//
// Every package marks an error where it is born by returning an *Error; callers wrap it with %w and
// never change its code; pgwire finds it with errors.As and sends its fields. An error that carries
// no *Error reaches the client as XX000.
package pgerr

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
)

// SQLSTATE codes in use, named as in PostgreSQL's errcodes.txt.
const (
	SuccessfulCompletion          = "00000"
	Warning                       = "01000"
	PrivilegeNotRevoked           = "01006"
	PrivilegeNotGranted           = "01007"
	NoData                        = "02000"
	ConnectionFailure             = "08006"
	ProtocolViolation             = "08P01"
	FeatureNotSupported           = "0A000"
	NoActiveHandler               = "0Z002"
	CaseNotFound                  = "20000"
	CardinalityViolation          = "21000"
	DataException                 = "22000"
	StringDataRightTruncation     = "22001"
	ErrorInAssignment             = "22005"
	NumericValueOutOfRange        = "22003"
	NullValueNotAllowed           = "22004"
	InvalidDatetimeFormat         = "22007"
	DatetimeFieldOverflow         = "22008"
	SequenceLimitExceeded         = "2200H"
	SubstringError                = "22011"
	DivisionByZero                = "22012"
	InvalidPrecedingOrFollowing   = "22013"
	IntervalFieldOverflow         = "22015"
	InvalidCharacterValueForCast  = "22018"
	InvalidRegularExpression      = "2201B"
	InvalidArgumentForLog         = "2201E"
	InvalidArgumentForPower       = "2201F"
	InvalidRowCountInLimit        = "2201W"
	InvalidRowCountInOffset       = "2201X"
	CharacterNotInRepertoire      = "22021"
	InvalidParameterValue         = "22023"
	InvalidEscapeSequence         = "22025"
	ArraySubscriptError           = "2202E"
	DuplicateJSONObjectKey        = "22030"
	InvalidTextRepresentation     = "22P02"
	InvalidBinaryRepresentation   = "22P03"
	BadCopyFileFormat             = "22P04"
	UntranslatableCharacter       = "22P05"
	IntegrityConstraintViolation  = "23000"
	NotNullViolation              = "23502"
	ForeignKeyViolation           = "23503"
	UniqueViolation               = "23505"
	CheckViolation                = "23514"
	WithCheckOptionViolation      = "44000"
	InvalidCursorState            = "24000"
	InvalidTransactionState       = "25000"
	ActiveSQLTransaction          = "25001"
	ReadOnlySQLTransaction        = "25006"
	NoActiveSQLTransaction        = "25P01"
	InFailedSQLTransaction        = "25P02"
	IdleInTransactionTimeout      = "25P03"
	InvalidSQLStatementName       = "26000"
	TriggeredDataChangeViolation  = "27000"
	InvalidAuthorization          = "28000"
	InvalidPassword               = "28P01"
	DependentObjectsStillExist    = "2BP01"
	InvalidTransactionTermination = "2D000"
	NoReturnStatement             = "2F005"
	InvalidCursorName             = "34000"
	InvalidSavepoint              = "3B001"
	InvalidCatalogName            = "3D000"
	InvalidSchemaName             = "3F000"
	SerializationFailure          = "40001"
	StatementCompletionUnknown    = "40003"
	DeadlockDetected              = "40P01"
	InsufficientPrivilege         = "42501"
	InvalidGrantOperation         = "0LP01"
	InvalidGrantor                = "0L000"
	SyntaxError                   = "42601"
	InvalidName                   = "42602"
	NameTooLong                   = "42622"
	ReservedName                  = "42939"
	DuplicateColumn               = "42701"
	AmbiguousColumn               = "42702"
	UndefinedColumn               = "42703"
	UndefinedObject               = "42704"
	DuplicateObject               = "42710"
	DuplicateAlias                = "42712"
	DuplicateFunction             = "42723"
	InvalidFunctionDefinition     = "42P13"
	AmbiguousFunction             = "42725"
	GroupingError                 = "42803"
	DatatypeMismatch              = "42804"
	WrongObjectType               = "42809"
	CannotCoerce                  = "42846"
	UndefinedFunction             = "42883"
	UndefinedTable                = "42P01"
	UndefinedParameter            = "42P02"
	DuplicateCursor               = "42P03"
	DuplicateDatabase             = "42P04"
	DuplicatePreparedStatement    = "42P05"
	DuplicateSchema               = "42P06"
	DuplicateTable                = "42P07"
	AmbiguousParameter            = "42P08"
	InvalidColumnReference        = "42P10"
	InvalidTableDefinition        = "42P16"
	IndeterminateDatatype         = "42P18"
	InvalidCursorDefinition       = "42P11"
	InvalidSchemaDefinition       = "42P15"
	InvalidObjectDefinition       = "42P17"
	InvalidForeignKey             = "42830"
	InvalidColumnDefinition       = "42611"
	WindowingError                = "42P20"
	InvalidRecursion              = "42P19"
	CollationMismatch             = "42P21"
	IndeterminateCollation        = "42P22"
	InsufficientResources         = "53000"
	DiskFull                      = "53100"
	OutOfMemory                   = "53200"
	TooManyConnections            = "53300"
	ConfigurationLimitExceeded    = "53400"
	ProgramLimitExceeded          = "54000"
	StatementTooComplex           = "54001"
	TooManyColumns                = "54011"
	TooManyArguments              = "54023"
	ObjectNotInPrerequisiteState  = "55000"
	ObjectInUse                   = "55006"
	CantChangeRuntimeParam        = "55P02"
	LockNotAvailable              = "55P03"
	QueryCanceled                 = "57014"
	AdminShutdown                 = "57P01"
	CannotConnectNow              = "57P03"
	IdleSessionTimeout            = "57P05"
	IOError                       = "58030"
	UndefinedFile                 = "58P01"
	SnapshotTooOld                = "72000"
	RaiseException                = "P0001"
	NoDataFound                   = "P0002"
	TooManyRows                   = "P0003"
	AssertFailure                 = "P0004"
	InternalError                 = "XX000"
	DataCorrupted                 = "XX001"
)

// Error is an error as PostgreSQL's protocol carries it. Position counts characters of the
// statement from 1; 0 is none.
type Error struct {
	Severity string // "ERROR" when empty; FATAL ends the connection; WARNING, NOTICE … are notices
	Code     string // SQLSTATE
	Message  string
	Detail   string
	Hint     string
	Position int
	Where    string
	// Of an error in a statement that a function runs: the statement, and the position in it.
	InnerQuery    string
	InnerPosition int
	Schema        string
	Table         string
	Column        string
	DataType      string
	Constraint    string
	Routine       string // PostgreSQL's function that reports this error, if a driver acts on it; Source says ours else

	pc uintptr // of the call of New, for Source
}

// Source returns the file, line and function in which New made the error; "" and 0 if it was made
// otherwise.
func (e *Error) Source() (file string, line int, function string) {
	if e.pc == 0 {
		return "", 0, e.Routine
	}
	f, _ := runtime.CallersFrames([]uintptr{e.pc}).Next()
	function = e.Routine
	if function == "" {
		function = f.Function[strings.LastIndexByte(f.Function, '/')+1:]
	}
	return path.Base(f.File), f.Line, function
}

// DropSource forgets where the *Error in err's chain was made: messages between nodes do not carry
// it. Tests compare errors so.
func DropSource(err error) {
	var e *Error
	if errors.As(err, &e) {
		e.pc = 0
	}
}

// caller returns the program counter of the function that called a constructor of this package.
func caller() uintptr {
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:])
	return pcs[0]
}

// Error returns the message with its SQLSTATE, for logs and tests.
func (e *Error) Error() string {
	s := e.Message + " (SQLSTATE " + e.Code + ")"
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// New makes an error of severity ERROR.
func New(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), pc: caller()}
}

// Fatal makes an error that ends the connection.
func Fatal(code, format string, args ...any) *Error {
	return &Error{Severity: "FATAL", Code: code, Message: fmt.Sprintf(format, args...), pc: caller()}
}

// Unsupported makes a 0A000 that names what is missing.
func Unsupported(format string, args ...any) *Error {
	return &Error{Code: FeatureNotSupported, Message: fmt.Sprintf(format, args...), pc: caller()}
}

// WithDetail sets the detail and returns e.
func (e *Error) WithDetail(format string, args ...any) *Error {
	e.Detail = fmt.Sprintf(format, args...)
	return e
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithRoutine sets the name of PostgreSQL's function that reports this error, and returns e.
func (e *Error) WithRoutine(name string) *Error {
	e.Routine = name
	return e
}

// Within returns an error in a statement that a function runs: its position is one in the text of the statement.
func Within(err error, text string) error {
	e := *From(err)
	if e.InnerQuery == "" && e.Position > 0 {
		e.InnerQuery, e.InnerPosition, e.Position = text, e.Position, 0
	}
	return &located{&e, err}
}

// InContext returns an error with another line of CONTEXT, behind those that it has.
func InContext(err error, line string) error {
	e := *From(err)
	if e.Where != "" {
		line = e.Where + "\n" + line
	}
	e.Where = line
	return &located{&e, err}
}

// located is an error with more fields than its cause has.
type located struct {
	shown *Error
	cause error
}

func (l *located) Error() string { return l.shown.Error() }

// Unwrap returns what clients see first.
func (l *located) Unwrap() []error { return []error{l.shown, l.cause} }

// At sets the position (characters from 1) and returns e.
func (e *Error) At(pos int) *Error {
	e.Position = pos
	return e
}

// From finds the *Error in err's chain, or wraps err as XX000. It returns nil for nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return New(InternalError, "%s", err.Error())
}

// Cancelled returns why a statement whose context has ended is canceled: the error that the context
// was ended with, or that the user asked for it.
func Cancelled(ctx context.Context) error {
	if e := From(context.Cause(ctx)); e != nil && e.Code != InternalError {
		return e
	}
	return New(QueryCanceled, "canceling statement due to user request")
}

// Code returns the SQLSTATE of err: "" for nil, XX000 if none is marked.
func Code(err error) string {
	if err == nil {
		return ""
	}
	return From(err).Code
}

// Is reports whether err carries the SQLSTATE code.
func Is(err error, code string) bool { return err != nil && Code(err) == code }

// Capital makes the first letter of an ASCII sentence a capital, as DETAIL and HINT begin.
func Capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
