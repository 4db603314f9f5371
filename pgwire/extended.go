package pgwire

import (
	"context"

	"github.com/jackc/pgproto3/v2"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// extended ends a message of the extended protocol: an error is sent and the rest of the pipeline
// dropped (W4).
func (c *conn) extended(err error) error {
	if c.lost != nil {
		return c.lost
	}
	if err == nil {
		return nil
	}
	e := pgerr.From(err)
	if e.Severity == "FATAL" {
		return e
	}
	c.skip = true
	c.sendError(e)
	if c.desync {
		return errDesync()
	}
	return c.flush() // the client may wait for it without having sent Sync
}

// failed marks an error that the session has not seen.
func (c *conn) failed(err error) error {
	if err != nil {
		c.session.FailPipeline()
	}
	return err
}

// ended ends the statement of ctx and returns its error as the client sees it.
func (c *conn) ended(ctx context.Context, err error) error {
	if err != nil {
		err = clientError(ctx, err)
	}
	c.intr.end()
	return err
}

// messages are the frontend messages that are reused for decoding.
type messages struct {
	query    pgproto3.Query
	parse    pgproto3.Parse
	bind     pgproto3.Bind
	describe pgproto3.Describe
	execute  pgproto3.Execute
	close    pgproto3.Close
}

// valid checks the strings of a message (W7).
func (c *conn) valid(texts ...string) error {
	for _, s := range texts {
		if err := types.ValidateText(s); err != nil {
			return c.failed(err)
		}
	}
	return nil
}

func (c *conn) parse(body []byte) error {
	m := &c.msg.parse
	if err := decode(m, body); err != nil {
		return c.failed(err)
	}
	if err := c.valid(m.Name, m.Query); err != nil {
		return err
	}
	ctx := c.intr.begin()
	if err := c.ended(ctx, c.session.Parse(ctx, m.Name, m.Query, m.ParameterOIDs)); err != nil {
		return err
	}
	c.send(&pgproto3.ParseComplete{})
	return nil
}

func (c *conn) bind(body []byte) error {
	m := &c.msg.bind
	if err := decode(m, body); err != nil {
		return c.failed(err)
	}
	if err := c.valid(m.DestinationPortal, m.PreparedStatement); err != nil {
		return err
	}
	ctx := c.intr.begin()
	if err := c.ended(ctx, c.bindPortal(ctx, m)); err != nil {
		return err
	}
	c.send(&pgproto3.BindComplete{})
	return nil
}

func (c *conn) describe(body []byte) error {
	m := &c.msg.describe
	if err := decode(m, body); err != nil {
		return c.failed(err)
	}
	if err := c.valid(m.Name); err != nil {
		return err
	}
	ctx := c.intr.begin()
	switch m.ObjectType {
	case 'S':
		return c.ended(ctx, c.describeStatement(ctx, m.Name))
	case 'P':
		return c.ended(ctx, c.describePortal(ctx, m.Name))
	}
	return c.ended(
		ctx, c.failed(pgerr.New(pgerr.ProtocolViolation, "invalid DESCRIBE message subtype %d", m.ObjectType)),
	)
}

func (c *conn) describeStatement(ctx context.Context, name string) error {
	d, err := c.session.DescribeStatement(ctx, name)
	if err != nil {
		return err
	}
	c.send(&pgproto3.ParameterDescription{ParameterOIDs: d.Params})
	c.sendColumns(d.Columns, nil)
	return nil
}

func (c *conn) describePortal(ctx context.Context, name string) error {
	d, err := c.session.DescribePortal(ctx, name)
	if err != nil {
		return err
	}
	c.sendColumns(d.Columns, c.portals.formats(name))
	return nil
}

// sendColumns appends RowDescription, or NoData for a statement that returns no rows.
func (c *conn) sendColumns(columns []stmt.Column, formats []int16) {
	if columns == nil {
		c.send(&pgproto3.NoData{})
		return
	}
	c.results.describe(columns, formats)
}

func (c *conn) execute(body []byte) error {
	m := &c.msg.execute
	if err := decode(m, body); err != nil {
		return c.failed(err)
	}
	if err := c.valid(m.Portal); err != nil {
		return err
	}
	maxRows := int(int32(m.MaxRows))
	if maxRows < 0 {
		maxRows = 0 // all rows, as in PostgreSQL
	}
	ctx := c.intr.begin()
	suspended := false
	d, err := c.session.DescribePortal(ctx, m.Portal)
	if err == nil {
		c.results.portal(d.Columns, c.portals.formats(m.Portal))
		if c.in.starts('S') {
			c.session.SyncFollows()
		}
		suspended, err = c.session.Execute(ctx, m.Portal, maxRows, &c.results)
	}
	if err == nil && suspended {
		c.send(&pgproto3.PortalSuspended{})
	}
	return c.ended(ctx, err)
}

func (c *conn) closeObject(body []byte) error {
	m := &c.msg.close
	if err := decode(m, body); err != nil {
		return c.failed(err)
	}
	if err := c.valid(m.Name); err != nil {
		return err
	}
	switch m.ObjectType {
	case 'S':
		c.session.CloseStatement(m.Name)
	case 'P':
		c.session.ClosePortal(m.Name)
		c.portals.drop(m.Name)
	default:
		return c.failed(pgerr.New(pgerr.ProtocolViolation, "invalid CLOSE message subtype %d", m.ObjectType))
	}
	c.send(&pgproto3.CloseComplete{})
	return nil
}

// sync ends a pipeline, or the part of it that an error has spoilt.
func (c *conn) sync() error {
	c.skip = false
	ctx := c.intr.begin()
	return c.endQuery(c.ended(ctx, c.session.Sync(ctx)))
}
