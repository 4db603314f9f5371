package exec

import (
	"slices"
	"sync"

	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// Program is a compiled plan. It is safe for concurrent use, because each execution has its own
// instance (E2).
type Program struct {
	root    plan.Node
	outers  int
	changes bool // it writes or locks
	reads   bool // see Reads
	measure operator.Measure

	mu   sync.Mutex
	free []*instance // guarded by mu
}

// instance holds the operators of one execution at a time.
type instance struct {
	op      operator.Op
	gathers []*gatherOp
	globals []*table.Index // used by op
	reads   snapshot       // of the gateway's side
	runs    uint64         // number of executions: caches of earlier ones are invalid
	ctx     Ctx            // of the fragment side, see RunTask
	local   local          // likewise
	scratch expr.Scratch   // of op
}

// keptInstances bounds the idle instances of a program.
const keptInstances = 16

// Compile compiles a plan. It returns 0A000 for expressions that cannot be run.
func Compile(p *plan.Plan) (*Program, error) { return compileNode(p.Root, p.Outers) }

// CompileMeasured compiles a plan whose steps count what they do, for Ctx.Analyze.
func CompileMeasured(p *plan.Plan, m operator.Measure) (*Program, error) {
	return compileMeasured(p.Root, p.Outers, m)
}

func compileNode(root plan.Node, outers int) (*Program, error) {
	return compileMeasured(root, outers, operator.Unmeasured)
}

func compileMeasured(root plan.Node, outers int, m operator.Measure) (*Program, error) {
	p := &Program{root: root, outers: outers, changes: Changes(root), measure: m}
	in, err := p.instance()
	if err != nil {
		return nil, err
	}
	p.free = append(p.free, in)
	p.reads = slices.ContainsFunc(in.gathers, func(o *gatherOp) bool { return !o.whole })
	return p, nil
}

func (p *Program) instance() (*instance, error) {
	k := newCompiler()
	k.Measure = p.measure
	op, err := k.Node(p.root)
	if err != nil {
		return nil, err
	}
	return &instance{op: op, gathers: k.gathers, globals: k.globals, scratch: k.Scratch}, nil
}

func (p *Program) acquire() (*instance, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		in := p.free[n-1]
		p.free[n-1] = nil // the list must not keep an instance whose execution panics
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return in, nil
	}
	p.mu.Unlock()
	return p.instance()
}

// release resets an instance and keeps it for another execution. An instance whose execution has
// panicked is not released.
func (p *Program) release(in *instance) {
	in.rest()
	p.mu.Lock()
	if len(p.free) < keptInstances {
		p.free = append(p.free, in)
	}
	p.mu.Unlock()
}

// rest leaves nothing of the execution that has ended.
func (in *instance) rest() {
	in.scratch.Rest()
	in.reads = snapshot{gathers: in.gathers}
	outers := in.ctx.Outers[:cap(in.ctx.Outers)]
	clear(outers)
	in.ctx, in.local = Ctx{Execution: operator.Execution{Ctx: expr.Ctx{Outers: outers[:0]}}}, local{}
}

// Run executes the program at the gateway and passes rows to emit. If emit returns an error, Run
// ends with it.
func (p *Program) Run(c *Ctx, emit Emit) error {
	in, err := p.acquire()
	if err != nil {
		return err
	}
	c.begin(in, p.outers)
	in.reads = snapshot{gathers: in.gathers}
	c.reads = &in.reads
	if c.Analyze != nil {
		c.Work = &c.Analyze.Steps
	}
	err = in.op.Run(&c.Execution, emit)
	p.release(in)
	return err
}

// begin prepares a Ctx for an execution of the instance.
func (c *Ctx) begin(in *instance, outers int) {
	in.runs++
	c.link()
	c.Run = in.runs
	c.Affected, c.Keys, c.Parted = 0, keychange.Set{}, c.Steady
	if cap(c.Outers) < outers {
		c.Outers = make(types.Row, outers)
	}
	c.Outers = c.Outers[:outers]
	clear(c.Outers)
}

// CompileTask compiles the plan of tasks from another node, which run many times.
func CompileTask(n plan.Node) (*Program, error) { return compileNode(n, 0) }

// WithProgram returns the task with a compiled plan.
func (t *Task) WithProgram(p *Program) *Task {
	c := *t
	c.Plan, c.program = p.root, p
	return &c
}
