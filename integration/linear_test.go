package integration

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5"
)

// register is a single document with one number: read, written, and compared and set by lone statements.
type registerInput struct {
	key      int
	kind     byte // 'r', 'w', 'c'
	old, new int
}

type registerOutput struct {
	value   int  // read
	swapped bool // compared and set
	unknown bool // the answer was lost: anything may have happened
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

// TestLinearizable has clients read, write and compare-and-set single documents while the process is killed: each document behaves as one that
// is changed at one instant between a statement's start and its answer.
//
// It goes on in rounds of two kills with documents of their own, each of which is checked by itself: for SHERD_HISTORY, or for one round.
func TestLinearizable(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	h := newHistoryRun(t, seed, 3)
	h.start()
	conn := Connect(t, h.process.URL)
	Exec(t, conn, "CREATE TABLE registers (id text PRIMARY KEY, v int NOT NULL, doc jsonb)")
	all := 0
	end := time.Now().Add(historyLength(t, 0))
	for round := 0; round == 0 || time.Now().Before(end); round++ {
		all += linearRound(t, h, round)
	}
	conn = Connect(t, h.process.URL)
	for _, wrong := range failedChecks(t, conn) {
		t.Error(wrong)
	}
	t.Logf("%d operations, %d kills", all, h.kills)
}

// linearRound gives the number of operations.
func linearRound(t *testing.T, h *historyRun, round int) int {
	conn := Connect(t, h.process.URL)
	for n := range registerKeys {
		Exec(t, conn, "INSERT INTO registers VALUES ($1, 0)", registerID(round*registerKeys+n))
	}
	conn.Close(context.Background())

	var mu sync.Mutex
	var ops []porcupine.Operation
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for n := range registerClients {
		c := &registerClient{historyClient{h: h, rnd: rand.New(rand.NewPCG(h.seed, uint64(round*registerClients+n)))}, round * registerKeys}
		wg.Go(func() {
			c.run(ctx, func(op porcupine.Operation) {
				mu.Lock()
				defer mu.Unlock()
				op.ClientId = n
				ops = append(ops, op)
			})
		})
	}
	for range 2 {
		time.Sleep(time.Duration(500+h.rnd.IntN(1000)) * time.Millisecond) // the random moment of the kill
		h.process.Kill()
		h.start()
		h.kills++
	}
	cancel()
	wg.Wait()
	if len(ops) < 200 {
		t.Errorf("only %d operations", len(ops))
	}
	switch porcupine.CheckOperationsTimeout(registers, ops, 2*time.Minute) {
	case porcupine.Illegal:
		t.Error("the documents are not linearizable")
	case porcupine.Unknown:
		t.Error("the history is too long to be checked")
	}
	return len(ops)
}

// TestRegisterModel shows that the check can fail: a read that misses an acknowledged write, and a value that comes back.
func TestRegisterModel(t *testing.T) {
	op := func(call, end int64, in registerInput, out registerOutput) porcupine.Operation {
		return porcupine.Operation{Call: call, Return: end, Input: in, Output: out}
	}
	w, r := registerInput{kind: 'w', new: 1}, registerInput{kind: 'r'}
	stale := []porcupine.Operation{op(1, 2, w, registerOutput{}), op(3, 4, r, registerOutput{value: 0})}
	back := []porcupine.Operation{op(1, 9, w, registerOutput{}), op(2, 3, r, registerOutput{value: 1}), op(4, 5, r, registerOutput{value: 0})}
	fine := []porcupine.Operation{op(1, 9, w, registerOutput{}), op(2, 3, r, registerOutput{value: 0}), op(4, 5, r, registerOutput{value: 1})}
	if porcupine.CheckOperations(registers, stale) || porcupine.CheckOperations(registers, back) || !porcupine.CheckOperations(registers, fine) {
		t.Error("the model is wrong")
	}
}

func registerID(key int) string { return fmt.Sprintf("r%d$@%d", key, key%registerKeys*170000) }

type registerClient struct {
	historyClient
	first int // of the round's keys
}

func (c *registerClient) run(ctx context.Context, note func(porcupine.Operation)) {
	for ctx.Err() == nil {
		if c.conn == nil || c.conn.IsClosed() {
			conn, err := pgx.Connect(ctx, *c.h.url.Load())
			if err != nil {
				time.Sleep(5 * time.Millisecond) // the process is being started anew
				continue
			}
			c.conn = conn
		}
		in := registerInput{key: c.first + c.rnd.IntN(registerKeys), kind: "rrwc"[c.rnd.IntN(4)], old: c.rnd.IntN(5), new: c.rnd.IntN(5)}
		op := porcupine.Operation{Input: in, Call: int64(c.now())}
		out, err := c.operate(ctx, in)
		op.Return = int64(c.now())
		switch code := sqlState(err); {
		case err == nil:
		case code != "" && code != "40003" && !strings.HasPrefix(code, "57P"):
			continue // refused: it had no effect
		case in.kind == 'r':
			continue
		default: // it may take effect at any time later
			out.unknown, op.Return = true, math.MaxInt64
		}
		op.Output = out
		note(op)
	}
	if c.conn != nil {
		c.conn.Close(context.Background())
	}
}

func (c *registerClient) operate(ctx context.Context, in registerInput) (out registerOutput, err error) {
	id := registerID(in.key)
	switch in.kind {
	case 'r':
		err = c.conn.QueryRow(ctx, "SELECT v FROM registers WHERE id = $1", id).Scan(&out.value)
	case 'w':
		_, err = c.conn.Exec(ctx, "UPDATE registers SET v = $2 WHERE id = $1", id, in.new)
	default:
		tag, e := c.conn.Exec(ctx, "UPDATE registers SET v = $3 WHERE id = $1 AND v = $2", id, in.old, in.new)
		out.swapped, err = tag.RowsAffected() == 1, e
	}
	return out, err
}
