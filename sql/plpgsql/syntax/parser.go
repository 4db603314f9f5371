package syntax

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
)

// Parameter is a parameter of a routine, or the result of one with a single OUT parameter.
type Parameter struct {
	Name string // "" if it has none
	Type Type
}

// Routine is what a body is parsed for.
type Routine struct {
	Source     string
	Name       string // whose label the outermost block has
	Parameters []Parameter
	Returns    Returns
	Trigger    bool // it has NEW, OLD and TG_…
	// IsComposite reports whether a type is a record or the row type of a table. It returns an
	// error if there is no such type.
	IsComposite func(t *Type) (bool, error)
}

// Returns says what a routine returns, as far as the grammar depends on it.
type Returns struct {
	Nothing    bool // void
	Set        bool
	Outs       bool // it has parameters of mode OUT
	Procedure  bool
	CompositeR bool // a record or row
}

// parser parses the statements of one body.
type parser struct {
	reader
	returns Returns
}

// reader reads the names, types and SQL in a body.
type reader struct {
	stream
	names       *Names
	body        *Body
	isComposite func(t *Type) (bool, error)
}

// Parse parses a body. Positions of errors are in InnerPosition, in the source.
func Parse(r Routine) (*Body, error) {
	tokens, err := scan(r.Source)
	if err != nil {
		return nil, err
	}
	p := &parser{returns: r.Returns}
	p.source, p.tokens, p.body, p.isComposite = r.Source, tokens, &Body{}, r.IsComposite
	p.names = p.names.block(r.Name, false)
	for i, param := range r.Parameters {
		v, err := p.newVariable(param.Name, param.Type, 1)
		if err != nil {
			return nil, err
		}
		v.Param = i + 1
		p.names = p.names.with(v, "$"+itoa(i+1))
		if param.Name != "" {
			p.names = p.names.with(v, param.Name)
		}
	}
	found := p.special("found", Found)
	p.names = p.names.with(found, "found")
	if r.Trigger {
		p.triggerVariables()
	}
	if err := p.options(); err != nil {
		return nil, err
	}
	if p.body.Block, err = p.block(); err != nil {
		return nil, err
	}
	p.accept(";")
	if p.peek().kind != endOfText {
		return nil, p.unexpected()
	}
	return p.body, nil
}

// triggerNames are the names of the variables of a trigger function that are no records.
var triggerNames = []string{
	"tg_name", "tg_when", "tg_level", "tg_op", "tg_relid", "tg_relname", "tg_table_name", "tg_table_schema",
	"tg_nargs", "tg_argv",
}

// triggerVariables makes the variables of a trigger function.
func (p *parser) triggerVariables() {
	for _, name := range []string{"new", "old"} {
		v := p.special(name, TriggerInfo)
		v.Composite, v.Type.Record = true, true
		p.names = p.names.with(v, name)
	}
	for _, name := range triggerNames {
		p.names = p.names.with(p.special(name, TriggerInfo), name)
	}
}

// options parses #option lines.
func (p *parser) options() error {
	for p.accept("#") {
		name, value := p.take(), token{}
		switch name.text {
		case "option":
			if p.take().text != "dump" {
				return p.unexpectedAt(p.next - 1)
			}
			continue
		case "print_strict_params":
			value = p.take()
			on := value.text == "on"
			if !on && value.text != "off" {
				return p.fail(pgerr.SyntaxError, "unrecognized print_strict_params option %s", value.text)
			}
			p.body.PrintStrict = &on
			continue
		case "variable_conflict":
			value = p.take()
		}
		switch value.text {
		case "error":
			p.body.Conflict = ConflictError
		case "use_variable":
			p.body.Conflict = UseVariable
		case "use_column":
			p.body.Conflict = UseColumn
		default:
			return p.unexpectedAt(p.next - 1)
		}
	}
	return nil
}

func (p *reader) newVariable(name string, t Type, line int) (*Variable, error) {
	v := &Variable{Number: len(p.body.Variables), Name: name, Line: line, Type: t, Composite: t.Record}
	if !t.Record && p.isComposite != nil && (t.Name != nil || t.Of != nil || t.Row != nil) {
		composite, err := p.isComposite(&v.Type)
		if err != nil {
			if t.Row != nil {
				e := *pgerr.From(err)
				e.Position = 0
				return nil, &LineError{&e, p.lineAt(t.Pos)}
			}
			return nil, p.locate(err, t.Pos)
		}
		v.Composite = composite
	}
	p.body.Variables = append(p.body.Variables, v)
	return v, nil
}

// special makes a variable that the language sets.
func (p *reader) special(name string, kind Special) *Variable {
	v := &Variable{Number: len(p.body.Variables), Name: name, Line: p.line(), Special: kind}
	p.body.Variables = append(p.body.Variables, v)
	return v
}

// block parses [<<label>>] [DECLARE …] BEGIN … [EXCEPTION …] END [label].
func (p *parser) block() (*Block, error) {
	label, err := p.label()
	if err != nil {
		return nil, err
	}
	return p.labeledBlock(label)
}

func (p *parser) labeledBlock(label string) (*Block, error) {
	outer := p.names
	defer func() { p.names = outer }()
	p.names = p.names.block(label, false)
	b := &Block{Label: label}
	if p.accept("declare") {
		for !p.peek().is("begin") || p.peek().kind == quoted {
			if p.accept("declare") { // it may be written again
				continue
			}
			v, err := p.declaration()
			if err != nil {
				return nil, err
			}
			if v != nil {
				b.Variables = append(b.Variables, v)
			}
		}
	}
	b.Line = Line(p.line())
	if err := p.expect("begin"); err != nil {
		return nil, err
	}
	var err error
	if b.Body, err = p.statements("exception", "end"); err != nil {
		return nil, err
	}
	if p.peek().is("exception") {
		if err := p.handlers(b); err != nil {
			return nil, err
		}
	}
	if err := p.expect("end"); err != nil {
		return nil, err
	}
	return b, p.endLabel(label)
}

// handlers parses EXCEPTION WHEN conditions THEN statements ….
func (p *parser) handlers(b *Block) error {
	p.take()
	b.Catches = true
	before := p.names
	defer func() { p.names = before }()
	b.State, b.Message = p.special("sqlstate", SQLState), p.special("sqlerrm", SQLErrm)
	p.names = p.names.with(b.State, "sqlstate").with(b.Message, "sqlerrm")
	for !p.peek().is("end") {
		h := Handler{Line: Line(p.line())}
		if err := p.expect("when"); err != nil {
			return err
		}
		for {
			codes, err := p.condition()
			if err != nil {
				return err
			}
			h.Conditions = append(h.Conditions, codes...)
			if !p.accept("or") {
				break
			}
		}
		if err := p.expect("then"); err != nil {
			return err
		}
		var err error
		if h.Body, err = p.statements("when", "end"); err != nil {
			return err
		}
		b.Exceptions = append(b.Exceptions, h)
	}
	if len(b.Exceptions) == 0 {
		return p.unexpected()
	}
	return nil
}

// condition parses a condition of a handler: a name, or SQLSTATE 'code'.
func (p *stream) condition() ([]string, error) {
	t := p.take()
	if !t.isName() {
		return nil, p.unexpectedAt(p.next - 1)
	}
	switch {
	case t.text == "sqlstate":
		code, err := p.sqlState()
		return []string{code}, err
	case t.text == "others":
		return []string{""}, nil
	}
	codes := conditions[t.text]
	if codes == nil {
		return nil, p.failNear(t.start, pgerr.UndefinedObject, "unrecognized exception condition %q", t.text)
	}
	return codes, nil
}

// sqlState parses the code after SQLSTATE.
func (p *stream) sqlState() (string, error) {
	t := p.take()
	if t.kind != stringConstant {
		return "", p.unexpectedAt(p.next - 1)
	}
	code, err := p.constant(t)
	if err != nil {
		return "", err
	}
	if len(code) != 5 || strings.Trim(code, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", p.failAt(t.start, pgerr.SyntaxError, "invalid SQLSTATE code")
	}
	return code, nil
}

// constant returns the value of a string constant.
func (p *stream) constant(t token) (string, error) {
	list, err := parse.Parse("SELECT " + p.source[t.start:t.end])
	if err != nil {
		return "", inside(err, p.source, t.start)
	}
	target := list[0].Node.GetSelectStmt().GetTargetList()[0].GetResTarget().GetVal()
	return target.GetAConst().GetSval().GetSval(), nil
}

// label parses <<label>>; "" if there is none.
func (p *stream) label() (string, error) {
	if !p.accept("<<") {
		return "", nil
	}
	t := p.take()
	if t.kind != word && t.kind != quoted {
		return "", p.unexpectedAt(p.next - 1)
	}
	return t.text, p.expect(">>")
}

// endLabel parses the label that may follow END and END LOOP.
func (p *parser) endLabel(label string) error {
	t := p.peek()
	if t.kind != quoted && t.kind != word || t.is("declare") {
		return nil
	}
	p.next++
	switch {
	case label == "":
		return p.failAt(t.start, pgerr.SyntaxError, "end label %q specified for unlabeled block", t.text)
	case label != t.text:
		return p.failAt(t.start, pgerr.SyntaxError, "end label %q differs from block's label %q", t.text, label)
	}
	return nil
}
