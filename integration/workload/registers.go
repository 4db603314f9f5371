package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5"
)

// registerInput is an operation on a single document with one number: a read, a write, or a
// compare-and-set, as an autocommit statement.
type registerInput struct {
	key      int
	kind     byte // 'r', 'w', 'c'
	old, new int
}

type registerOutput struct {
	value   int  // read; of a write, the rows that it has changed
	swapped bool // compared and set
	unknown bool // the answer was lost: the operation may have taken effect or not
}

// registers is the model: each document by itself is an atomic register.
var registers = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[int][]porcupine.Operation{}
		for _, op := range all {
			k := op.Input.(registerInput).key
			byKey[k] = append(byKey[k], op)
		}
		var out [][]porcupine.Operation
		for _, ops := range byKey {
			out = append(out, ops)
		}
		return out
	},
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		v, in, out := state.(int), input.(registerInput), output.(registerOutput)
		switch in.kind {
		case 'r':
			return out.unknown || out.value == v, v
		case 'w':
			return true, in.new
		}
		if out.unknown {
			if v == in.old {
				return true, in.new
			}
			return true, v
		}
		if out.swapped != (v == in.old) {
			return false, v
		}
		if out.swapped {
			return true, in.new
		}
		return true, v
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

const (
	registerKeys    = 6
	registerClients = 6
)

func registerID(key int) string { return fmt.Sprintf("r%d$@%d", key, key%registerKeys*170000) }

// Registers is a round of clients that read, write and compare-and-set single documents of that
// round.
type Registers struct {
	run   *Run
	first int // of its keys

	mu  sync.Mutex
	ops []porcupine.Operation // guarded by mu
}

// NewRegisters creates the documents of a round; round 0 also creates the table.
func (r *Run) NewRegisters(ctx context.Context, conn *pgx.Conn, round int) (*Registers, error) {
	if round == 0 {
		r.start()
		if _, err := conn.Exec(ctx, "CREATE TABLE registers (id text PRIMARY KEY, "+
			"v int NOT NULL, doc jsonb)"); err != nil {
			return nil, err
		}
	}
	for n := range registerKeys {
		if _, err := conn.Exec(ctx, "INSERT INTO registers VALUES ($1, 0)",
			registerID(round*registerKeys+n)); err != nil {
			return nil, err
		}
	}
	return &Registers{run: r, first: round * registerKeys}, nil
}

// Start starts the clients, which work until ctx ends; wait waits for their end.
func (g *Registers) Start(ctx context.Context) (wait func()) {
	var wg sync.WaitGroup
	for n := range registerClients {
		c := &registerClient{g.run.client(uint64(g.first + n + 2000)), g, n}
		wg.Go(func() {
			for c.connected(ctx) {
				c.one()
				time.Sleep(g.run.Pause)
			}
		})
	}
	return wg.Wait
}

// Operations returns how many there are so far.
func (g *Registers) Operations() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.ops)
}

// Verify returns the number of operations, and what is wrong: each document must behave as if each
// operation took effect at one instant between its start and its answer.
func (g *Registers) Verify() (operations int, wrong string) {
	switch porcupine.CheckOperationsTimeout(registers, g.ops, 2*time.Minute) {
	case porcupine.Illegal:
		wrong = "the documents are not linearizable"
	case porcupine.Unknown:
		wrong = "the history is too long to be checked"
	}
	return len(g.ops), wrong
}

type registerClient struct {
	client
	round *Registers
	n     int
}

func (c *registerClient) one() {
	ctx, cancel := c.limited()
	defer cancel()
	in := registerInput{key: c.round.first + c.rnd.IntN(registerKeys), kind: "rrwc"[c.rnd.IntN(4)], old: c.rnd.IntN(5),
		new: c.rnd.IntN(5)}
	op := porcupine.Operation{ClientId: c.n, Input: in, Call: int64(c.now())}
	out, err := c.operate(ctx, in)
	op.Return = int64(c.now())
	if errors.Is(err, pgx.ErrNoRows) || err == nil && in.kind == 'w' && out.value != 1 {
		c.round.run.Errorf("%s is not there, or more than once: %+v, %d rows", registerID(in.key), in, out.value)
	} else if err != nil {
		c.saw(err, true)
	}
	switch {
	case err == nil:
	case refused(err), in.kind == 'r': // it had no effect
		return
	default: // it may take effect at any later time
		out.unknown, op.Return = true, math.MaxInt64
	}
	op.Output = out
	c.round.mu.Lock()
	defer c.round.mu.Unlock()
	c.round.ops = append(c.round.ops, op)
}

func (c *registerClient) operate(ctx context.Context, in registerInput) (out registerOutput, err error) {
	id := registerID(in.key)
	switch in.kind {
	case 'r':
		err = c.conn.QueryRow(ctx, "SELECT v FROM registers WHERE id = $1", id).Scan(&out.value)
	case 'w':
		tag, e := c.conn.Exec(ctx, "UPDATE registers SET v = $2 WHERE id = $1", id, in.new)
		out.value, err = int(tag.RowsAffected()), e
	default:
		tag, e := c.conn.Exec(ctx, "UPDATE registers SET v = $3 WHERE id = $1 AND v = $2", id, in.old, in.new)
		out.swapped, err = tag.RowsAffected() == 1, e
	}
	return out, err
}
