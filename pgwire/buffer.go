package pgwire

import "sync"

const (
	chunkSize    = 16 << 10 // a pooled buffer as it is made
	chunkKeep    = 64 << 10 // a larger buffer is not pooled again
	smallSize    = 2 << 10  // read buffer of an idle connection (W6)
	flushAt      = 32 << 10 // output of this length is written at once
	startupLimit = 10_000   // PostgreSQL's MAX_STARTUP_PACKET_LENGTH
	saslLimit    = 1_024    // PostgreSQL's PG_MAX_SASL_MESSAGE_LENGTH
)

// chunk is a buffer that connections borrow while they are busy.
type chunk struct{ b []byte }

// chunks is the pool of chunks. It is per server, so that a test sees its own.
type chunks struct{ pool sync.Pool }

func (p *chunks) get() *chunk {
	if c, ok := p.pool.Get().(*chunk); ok {
		return c
	}
	return &chunk{b: make([]byte, 0, chunkSize)}
}

func (p *chunks) put(c *chunk) {
	if cap(c.b) > chunkKeep {
		return
	}
	c.b = c.b[:0]
	p.pool.Put(c)
}
