package pgwire

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgproto3/v2"

	"github.com/sherddb/sherd/internal/pgerr"
)

// clientError returns the error that the client sees for err. If the context has ended the
// statement, it is the cause of that.
func clientError(ctx context.Context, err error) *pgerr.Error {
	var e *pgerr.Error
	if errors.As(err, &e) {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &e):
		return e
	case errors.Is(err, context.Canceled):
		return userCancel()
	case errors.Is(err, context.DeadlineExceeded):
		return pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout")
	}
	return pgerr.From(err)
}

func userCancel() *pgerr.Error {
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}

// sendError appends an ErrorResponse.
func (c *conn) sendError(e *pgerr.Error) {
	c.send((*pgproto3.ErrorResponse)(errorFields(e, "ERROR")))
}

// sendNotice appends a NoticeResponse and writes it at once, because the statement may run for
// long.
func (c *conn) sendNotice(e *pgerr.Error) error {
	c.send((*pgproto3.NoticeResponse)(errorFields(e, "NOTICE")))
	return c.flush()
}

// errorFields returns the fields of ErrorResponse and NoticeResponse. Messages quote input of
// clients and files, so they are cleaned: a NUL would end a field early.
func errorFields(e *pgerr.Error, severity string) *pgproto3.ErrorResponse {
	if e.Severity != "" {
		severity = e.Severity
	}
	file, line, routine := e.Source()
	return &pgproto3.ErrorResponse{
		File:                file,
		Line:                int32(line),
		Routine:             routine,
		Severity:            severity,
		SeverityUnlocalized: severity,
		Code:                e.Code,
		Message:             clean(e.Message),
		Detail:              clean(e.Detail),
		Hint:                clean(e.Hint),
		Position:            int32(e.Position),
		Where:               clean(e.Where),
		InternalPosition:    int32(e.InnerPosition),
		InternalQuery:       clean(e.InnerQuery),
		SchemaName:          clean(e.Schema),
		TableName:           clean(e.Table),
		ColumnName:          clean(e.Column),
		DataTypeName:        clean(e.DataType),
		ConstraintName:      clean(e.Constraint),
	}
}

// clean makes s valid in a field of an error.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}
