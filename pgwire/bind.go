package pgwire

import (
	"context"
	"fmt"

	"github.com/jackc/pgproto3/v2"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// Formats of parameters and results.
const (
	formatText   = 0
	formatBinary = 1
)

// portals remembers the result formats of portals. The session has everything else about them.
type portals struct {
	unnamed []int16
	named   map[string][]int16
}

func (p *portals) set(name string, formats []int16) {
	if name == "" {
		p.unnamed = append(p.unnamed[:0], formats...)
		return
	}
	if p.named == nil {
		p.named = map[string][]int16{}
	}
	p.named[name] = formats
}

// formats returns the result formats of a portal. A portal that SQL opened (DECLARE) has none, so
// its results are text.
func (p *portals) formats(name string) []int16 {
	if name == "" {
		return p.unnamed
	}
	return p.named[name]
}

func (p *portals) drop(name string) {
	if name == "" {
		p.unnamed = p.unnamed[:0]
		return
	}
	delete(p.named, name)
}

// clear forgets all portals, because the end of a transaction has closed them.
func (p *portals) clear() {
	if cap(p.unnamed) > maxKeptFields {
		p.unnamed = nil
	}
	p.unnamed = p.unnamed[:0]
	if len(p.named) > maxKeptFields {
		p.named = nil
	}
	clear(p.named)
}

// format returns the format of the i-th value. A single format counts for all values; if there is
// none, the format is text. There can be fewer formats than values only if SQL has opened another
// cursor under the name of a portal.
func format(formats []int16, i int) int16 {
	switch {
	case len(formats) == 1:
		return formats[0]
	case i < len(formats):
		return formats[i]
	}
	return formatText
}

// bindPortal checks a Bind message, decodes its parameters and makes the portal.
func (c *conn) bindPortal(ctx context.Context, m *pgproto3.Bind) error {
	d, err := c.session.DescribeStatement(ctx, m.PreparedStatement)
	if err != nil {
		return err
	}
	if err := checkBind(m, len(d.Params)); err != nil {
		return c.failed(err)
	}
	args, err := c.arguments(m, d.Params)
	if err != nil {
		return c.failed(err)
	}
	if err := c.session.Bind(ctx, m.DestinationPortal, m.PreparedStatement, args); err != nil {
		return err
	}
	if err := checkFormats(m.ResultFormatCodes, len(d.Columns)); err != nil {
		c.session.ClosePortal(m.DestinationPortal)
		return c.failed(err)
	}
	c.portals.set(m.DestinationPortal, m.ResultFormatCodes)
	return nil
}

// checkBind compares the counts of a Bind message with the statement's parameters.
func checkBind(m *pgproto3.Bind, params int) error {
	if n := len(m.ParameterFormatCodes); n > 1 && n != len(m.Parameters) {
		return pgerr.New(
			pgerr.ProtocolViolation, "bind message has %d parameter formats but %d parameters", n, len(m.Parameters),
		)
	}
	if len(m.Parameters) != params {
		return pgerr.New(pgerr.ProtocolViolation, `bind message supplies %d parameters, `+
			`but prepared statement "%s" requires %d`,
			len(m.Parameters), m.PreparedStatement, params)
	}
	return nil
}

func checkFormats(formats []int16, columns int) error {
	if len(formats) > 1 && len(formats) != columns {
		return pgerr.New(
			pgerr.ProtocolViolation, "bind message has %d result formats but query has %d columns", len(formats),
			columns,
		)
	}
	for _, f := range formats {
		if f != formatText && f != formatBinary {
			return pgerr.New(pgerr.InvalidParameterValue, "unsupported format code: %d", f)
		}
	}
	return nil
}

// arguments decodes the parameters. They live as long as the portal, so they do not alias the
// message.
func (c *conn) arguments(m *pgproto3.Bind, params []types.OID) ([]types.Datum, error) {
	if len(params) == 0 {
		return nil, nil
	}
	args := make([]types.Datum, len(params))
	env := c.session.Env()
	for i, raw := range m.Parameters {
		if raw == nil {
			continue
		}
		var err error
		if args[i], err = argument(params[i], format(m.ParameterFormatCodes, i), raw, env); err != nil {
			return nil, parameterContext(err, m, i)
		}
	}
	return args, nil
}

func argument(oid types.OID, format int16, raw []byte, env *types.Env) (types.Datum, error) {
	switch format {
	case formatText:
		text := string(raw)
		if err := types.ValidateText(text); err != nil {
			return types.Null, err
		}
		return types.Input(oid, -1, text, env)
	case formatBinary:
		d, err := types.Receive(oid, -1, raw, env)
		return d.Clone(), err
	}
	return types.Null, pgerr.New(pgerr.InvalidParameterValue, "unsupported format code: %d", format)
}

// parameterContext adds the parameter that an error is about, as PostgreSQL does in the field
// Where.
func parameterContext(err error, m *pgproto3.Bind, i int) error {
	e := *pgerr.From(err)
	if e.Where != "" {
		return &e
	}
	e.Where = parameterName(m, i)
	if format(m.ParameterFormatCodes, i) == formatText && e.Code != pgerr.CharacterNotInRepertoire {
		// PostgreSQL shows log_parameter_max_length_on_error characters of values in text form:
		// none.
		e.Where += " = '...'"
	}
	return &e
}

// parameterName names a parameter as PostgreSQL's error context does.
func parameterName(m *pgproto3.Bind, i int) string {
	portal := "unnamed portal"
	if m.DestinationPortal != "" {
		portal = fmt.Sprintf(`portal "%s"`, m.DestinationPortal)
	}
	return fmt.Sprintf("%s parameter $%d", portal, i+1)
}
