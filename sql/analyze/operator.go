package analyze

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// operator finds the operator of a name for two types (oper); left is 0 for a prefix operator.
func (s *scope) operator(name []string, left, right types.OID, loc int32) (*pgcatalog.Operator, error) {
	if len(name) > 1 && !s.schemaExists(name[len(name)-2]) {
		return nil, s.errorf(loc, pgerr.InvalidSchemaName, "schema %q does not exist", name[len(name)-2])
	}
	op, ambiguous := lookupOperator(name, left, right)
	if op != nil {
		return op, nil
	}
	shown := name[len(name)-1]
	if len(name) > 1 {
		shown = name[0] + "." + shown
	}
	signature := shown + " " + s.ctx.name(right)
	if left != 0 {
		signature = s.ctx.name(left) + " " + signature
	}
	if ambiguous {
		return nil, s.errorf(loc, pgerr.AmbiguousFunction, "operator is not unique: %s", signature).
			WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.")
	}
	e := s.errorf(loc, pgerr.UndefinedFunction, "operator does not exist: %s", signature).
		WithHint("No operator matches the given name and argument types. You might need to add explicit type casts.")
	if left == 0 {
		e.Hint = "No operator matches the given name and argument type. You might need to add an explicit type cast."
	}
	return nil, e
}

// lookupOperator is binary_oper_exact, then oper_select_candidate.
func lookupOperator(name []string, left, right types.OID) (op *pgcatalog.Operator, ambiguous bool) {
	if len(name) > 1 && name[len(name)-2] != "pg_catalog" {
		return nil, false
	}
	symbol := name[len(name)-1]
	if op := exactOperator(symbol, left, right); op != nil {
		return op, false
	}
	input := []types.OID{left, right}
	if left == 0 {
		input = input[1:]
	}
	var candidates []candidate
	for _, o := range pgcatalog.OperatorsByName(symbol) {
		if (o.Left == 0) != (left == 0) {
			continue
		}
		args := []types.OID{o.Left, o.Right}
		if left == 0 {
			args = args[1:]
		}
		if canCoerce(input, args, implicit) {
			candidates = append(candidates, candidate{args: args, op: o})
		}
	}
	switch len(candidates) {
	case 0:
		return nil, false
	case 1:
		return candidates[0].op, false
	}
	best := selectCandidate(input, candidates)
	if best == nil {
		return nil, true
	}
	return best.op, false
}

// exactOperator assumes that an unknown operand has the type of the other.
func exactOperator(symbol string, left, right types.OID) *pgcatalog.Operator {
	if left == 0 {
		return pgcatalog.OperatorFor(symbol, 0, right)
	}
	guessed := false
	switch {
	case left == types.Unknown && right != types.Unknown:
		left, guessed = right, true
	case right == types.Unknown && left != types.Unknown:
		right, guessed = left, true
	}
	if op := pgcatalog.OperatorFor(symbol, left, right); op != nil {
		return op
	}
	if guessed {
		if b := baseType(left); b != left {
			return pgcatalog.OperatorFor(symbol, b, b)
		}
	}
	return nil
}

// opCall returns the call of an operator (make_op); left is nil for a prefix operator.
func (s *scope) opCall(name []string, left, right query.Expr, loc int32) (query.Expr, error) {
	var lt types.OID
	var args []query.Expr
	if left != nil {
		lt = left.Type()
		args = append(args, left)
	}
	args = append(args, right)
	op, err := s.operator(name, lt, right.Type(), loc)
	if err != nil {
		return nil, err
	}
	return s.callOperator(op, args, loc)
}

func (s *scope) callOperator(op *pgcatalog.Operator, args []query.Expr, loc int32) (*query.Call, error) {
	proc := pgcatalog.ProcByOID(op.Proc)
	if proc == nil {
		return nil, s.errorf(loc, pgerr.UndefinedFunction, "operator is only a shell: %s", op.Name)
	}
	declared := []types.OID{op.Left, op.Right}
	if op.Left == 0 {
		declared = declared[1:]
	}
	ret, err := s.enforceGeneric(query.TypesOf(args), declared, op.Result, loc)
	if err != nil {
		return nil, err
	}
	args, err = s.coerceArgs(args, declared, loc)
	if err != nil {
		return nil, err
	}
	if err := s.checkImplemented(proc, loc); err != nil {
		return nil, err
	}
	return &query.Call{T: query.Of(ret), Proc: proc, Args: args, Op: op.Name, Pos: s.pos(loc)}, nil
}

// coerceArgs is make_fn_arguments.
func (s *scope) coerceArgs(args []query.Expr, declared []types.OID, loc int32) ([]query.Expr, error) {
	out := make([]query.Expr, len(args))
	for i, a := range args {
		if i >= len(declared) || a.Type() == declared[i] {
			out[i] = a
			continue
		}
		e, err := s.coerce(a, declared[i], -1, implicit, loc)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

// arrayOp is make_scalar_array_op: left op ANY|ALL (array).
func (s *scope) arrayOp(name []string, all bool, left, array query.Expr, loc int32) (query.Expr, error) {
	elem := types.OID(types.Unknown)
	if array.Type() != types.Unknown {
		if elem = elementOf(array.Type()); elem == 0 {
			return nil, s.errorf(loc, pgerr.WrongObjectType, "op ANY/ALL (array) requires array on right side")
		}
	}
	op, err := s.operator(name, left.Type(), elem, loc)
	if err != nil {
		return nil, err
	}
	declared := []types.OID{op.Left, op.Right}
	ret, err := s.enforceGeneric([]types.OID{left.Type(), elem}, declared, op.Result, loc)
	if err != nil {
		return nil, err
	}
	if ret != types.Bool {
		return nil, s.errorf(loc, pgerr.WrongObjectType, "op ANY/ALL (array) requires operator to yield boolean")
	}
	proc := pgcatalog.ProcByOID(op.Proc)
	if proc.RetSet {
		return nil, s.errorf(loc, pgerr.WrongObjectType, "op ANY/ALL (array) requires operator not to return a set")
	}
	want := pgcatalog.ArrayOf(declared[1])
	if want == 0 {
		if !isPolymorphic(declared[1]) && array.Type() == types.Unknown {
			return nil, s.errorf(loc, pgerr.UndefinedObject, "could not find array type for data type %s",
				s.ctx.name(declared[1]))
		}
		want = array.Type()
	}
	args, err := s.coerceArgs([]query.Expr{left, array}, []types.OID{declared[0], want}, loc)
	if err != nil {
		return nil, err
	}
	if err := s.checkImplemented(proc, loc); err != nil {
		return nil, err
	}
	return &query.ArrayOp{T: query.Of(types.Bool), Proc: proc, Op: op.Name, All: all, Left: args[0], Array: args[1],
		Pos: s.pos(loc)}, nil
}

// equality analyzes left = right, and returns the call with its coerced operands.
func (s *scope) equality(left, right query.Expr, construct string, loc int32) (*query.Call, error) {
	e, err := s.opCall([]string{"="}, left, right, loc)
	if err != nil {
		return nil, err
	}
	call := e.(*query.Call)
	if call.Type() != types.Bool {
		return nil, s.errorf(loc, pgerr.DatatypeMismatch, "%s requires = operator to yield boolean", construct)
	}
	return call, nil
}
