package jsonpath

import "github.com/sherddb/sherd/jsonb"

// op is what a node does.
type op uint8

const (
	opNull op = iota
	opTrue
	opFalse
	opNumber
	opString
	opVariable
	opRoot    // $
	opCurrent // @
	opLast
	opKey      // .name
	opAnyKey   // .*
	opAnyArray // [*]
	opAny      // .**
	opIndex    // [from to to, …]
	opFilter   // ?(left)
	opType
	opSize
	opDouble
	opCeiling
	opFloor
	opAbs
	opDatetime
	opKeyvalue
	opAdd
	opSub
	opMul
	opDiv
	opMod
	opPlus  // unary
	opMinus // unary
	opEq    // from here on predicates
	opNe
	opLt
	opLe
	opGt
	opGe
	opAnd
	opOr
	opNot
	opUnknown
	opExists
	opStarts
	opRegex
)

// symbols prints operators and methods.
var symbols = [...]string{
	opType: "type", opSize: "size", opDouble: "double", opCeiling: "ceiling", opFloor: "floor", opAbs: "abs",
	opDatetime: "datetime", opKeyvalue: "keyvalue",
	opAdd: "+", opSub: "-", opMul: "*", opDiv: "/", opMod: "%", opPlus: "+", opMinus: "-",
	opEq: "==", opNe: "!=", opLt: "<", opLe: "<=", opGt: ">", opGe: ">=", opAnd: "&&", opOr: "||",
	opStarts: "starts with", opRegex: "",
}

// node is an operation with its operands; accessors that follow it hang on next.
type node struct {
	op          op
	text        string    // key, string, variable, pattern
	value       jsonb.Doc // of a literal
	left, right *node
	subs        []subscript
	first, last uint32 // levels of .**
	flags       regexFlags
	regex       matcher
	next        *node
	depth       int // nesting below, next not counted
}

// subscript is one entry of [ ]; to is nil for a single position.
type subscript struct{ from, to *node }

// anyLevel is "last" among the levels of .**.
const anyLevel = ^uint32(0)

func (n *node) predicate() bool { return n.op >= opEq && n.next == nil }

// Path is a parsed jsonpath.
type Path struct {
	root   *node
	strict bool
}
