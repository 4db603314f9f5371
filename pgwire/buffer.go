package pgwire

import "sync"

const (
	chunkSize    = 16 << 10 // a pooled buffer as it is made
	chunkKeep    = 64 << 10 // a buffer that grew beyond is left to the collector
	smallSize    = 2 << 10  // what an idle connection keeps to read into (W6)
	flushAt      = 32 << 10 // output that long is written without waiting for the client's turn
	startupLimit = 10_000   // PostgreSQL's MAX_STARTUP_PACKET_LENGTH
	saslLimit    = 1_024    // PostgreSQL's PG_MAX_SASL_MESSAGE_LENGTH
)

// chunk is a buffer that connections borrow while they are busy.
type chunk struct{ b []byte }

// chunks lends them. It is per server, so that a test sees its own.
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
