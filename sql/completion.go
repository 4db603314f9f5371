package sql

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// completion holds back the last statement's command tag: it is said only when its implicit transaction has committed. Of a statement that writes or defines
// something and is all of its transaction it holds back what it returns and remarks, too, as loneAnswer does for queries of the extended protocol, and keeps
// what it is given by COPY: so it can be run again where rows have moved beneath it.
type completion struct {
	ResultWriter
	tags    []string
	told    bool // the client has seen something of the statement
	lone    bool
	holds   bool
	columns []stmt.Column // not described yet
	held    heldAnswer
	remarks []*pgerr.Error // notices
	dir     string         // of temporary files
	copied  *keptCopy      // nil: it is no COPY FROM
}

// maxRemarks bounds the notices that are kept.
const maxRemarks = 1000

// hold keeps what the statement returns, where it is all of its transaction.
func (c *completion) hold() {
	if c.lone && !c.told {
		c.holds, c.held.emit = true, c.row
	}
}

// drop forgets what was kept, before the statement is run again.
func (c *completion) drop() {
	c.tags, c.columns, c.remarks = nil, nil, nil
	c.held.drop()
}

// again tells whether the statement may be run again after an error.
func (c *completion) again() bool { return c.lone && !c.told && (c.copied == nil || !c.copied.passed) }

// close ends what was kept; the client of a statement that has failed is told what it has remarked.
func (c *completion) close(err error) {
	if c.copied != nil {
		c.copied.close()
	}
	if err != nil {
		_ = c.remark() // that has failed more than this
	}
}

// remark gives the notices that were kept.
func (c *completion) remark() error {
	list := c.remarks
	c.remarks = nil
	for _, n := range list {
		c.told = true
		if err := c.ResultWriter.Notice(n); err != nil {
			return err
		}
	}
	return nil
}

// describe gives the columns that were kept.
func (c *completion) describe() error {
	if c.columns == nil {
		return nil
	}
	columns := c.columns
	c.columns, c.told = nil, true
	return c.ResultWriter.Describe(columns)
}

func (c *completion) row(row []types.Datum) error {
	if err := c.describe(); err != nil {
		return err
	}
	return c.ResultWriter.Row(row)
}

// pass gives what was kept.
func (c *completion) pass() error {
	if !c.holds {
		return nil
	}
	if err := c.describe(); err != nil {
		return err
	}
	if err := c.held.pass(); err != nil {
		return err
	}
	return c.remark()
}

// Describe implements ResultWriter.
func (c *completion) Describe(columns []stmt.Column) error {
	if c.holds {
		c.columns = columns
		return nil
	}
	c.told = true
	return c.ResultWriter.Describe(columns)
}

// Row implements ResultWriter.
func (c *completion) Row(row []types.Datum) error {
	if c.holds {
		return c.held.add(row)
	}
	return c.ResultWriter.Row(row)
}

// Notice implements ResultWriter. A client that has been told of something does not hear of it again.
func (c *completion) Notice(n *pgerr.Error) error {
	if c.holds && len(c.remarks) < maxRemarks {
		c.remarks = append(c.remarks, n)
		return nil
	}
	return c.say(n)
}

// say passes a notice on that is to be heard while the statement goes on, with all that was kept.
func (c *completion) say(n *pgerr.Error) error {
	if err := c.pass(); err != nil {
		return err
	}
	c.told = true
	return c.ResultWriter.Notice(n)
}

// CopyIn implements ResultWriter. The client is asked once.
func (c *completion) CopyIn(f CopyFormat) (CopyReader, error) {
	if c.copied != nil {
		c.copied.rewind()
		return c.copied, nil
	}
	in, err := c.ResultWriter.CopyIn(f)
	if err != nil || !c.lone {
		return in, err
	}
	c.copied = &keptCopy{live: in, dir: c.dir}
	return c.copied, nil
}

// CopyOut implements ResultWriter.
func (c *completion) CopyOut(f CopyFormat) error {
	c.told = true
	return c.ResultWriter.CopyOut(f)
}

// Complete implements ResultWriter.
func (c *completion) Complete(tag string) error {
	c.tags = append(c.tags, tag)
	return nil
}

func (c *completion) send() error {
	if err := c.pass(); err != nil {
		return err
	}
	for _, tag := range c.tags {
		if err := c.ResultWriter.Complete(tag); err != nil {
			return err
		}
	}
	return nil
}
