package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/catalog/acl"
	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/pgerr"
)

// Function is a function or procedure that a user has defined.
type Function struct {
	OID       OID
	Database  OID
	Schema    OID
	Name      string
	Owner     OID // role
	Comment   string
	Kind      byte   // pg_proc.prokind: 'f' function, 'p' procedure
	Language  string // pg_language.lanname
	Arguments []Argument
	Result    OID // 0: a procedure without OUT arguments
	// ResultRelation is the relation whose row type the result is; Result is record then.
	ResultRelation  OID
	Set             bool
	Volatility      byte // 'i', 's', 'v'
	Strict          bool
	Leakproof       bool
	SecurityDefiner bool
	Parallel        byte // 's', 'r', 'u'
	Cost            float32
	Rows            float32
	Settings        []string // of SET clauses: name=value
	Source          string
	// Body is that of BEGIN ATOMIC or RETURN: statements in the stored form of package sql/deparse, which
	// has no names that can change. Source is empty then.
	Body   []string
	Atomic bool  // written with BEGIN ATOMIC
	Uses   []Use // what Body depends on, as that of a view
	ACL    acl.List
}

// Argument is an argument of a function.
type Argument struct {
	Name     string // "" if it has none
	Mode     byte   // proargmodes: 'i', 'o', 'b', 'v', 't'
	Type     OID
	Relation OID    // whose row type it is; Type is record then
	Default  string // SQL text; "" if there is none
}

// IsInput reports whether calls have a value for the argument.
func (a *Argument) IsInput() bool { return a.Mode == 'i' || a.Mode == 'b' || a.Mode == 'v' }

// InputTypes returns the types of the input arguments.
func (f *Function) InputTypes() []OID {
	out := []OID{}
	for i := range f.Arguments {
		if a := &f.Arguments[i]; a.IsInput() {
			out = append(out, a.Type)
		}
	}
	return out
}

// ParameterNames returns the names of the input arguments; "" of those without a name.
func (f *Function) ParameterNames() []string {
	out := []string{}
	for i := range f.Arguments {
		if a := &f.Arguments[i]; a.IsInput() {
			out = append(out, a.Name)
		}
	}
	return out
}

// heldName is the name with the types of the input arguments: functions with others may have the same
// name.
func (f *Function) heldName() heldName {
	return heldName{functionKey(f.Schema, f.Name, f.identity()), pgerr.DuplicateFunction, "function", f.Name}
}

// identity returns what tells functions of a name apart. Row types have the OIDs of their relations.
func (f *Function) identity() []OID {
	out := []OID{}
	for i := range f.Arguments {
		switch a := &f.Arguments[i]; {
		case !a.IsInput():
		case a.Relation != 0:
			out = append(out, a.Relation)
		default:
			out = append(out, a.Type)
		}
	}
	return out
}

func functionKey(schema OID, name string, identity []OID) string {
	b := append([]byte(name), 0)
	for _, t := range identity {
		b = binary.BigEndian.AppendUint32(b, t)
	}
	return nameKey(functionNames, schema, string(b))
}

// SameArguments reports whether two functions have the same input arguments.
func (f *Function) SameArguments(g *Function) bool { return slices.Equal(f.identity(), g.identity()) }

// Clone returns a copy of a function that may be changed (K1).
func (f *Function) Clone() *Function {
	c := *f
	c.Arguments, c.Settings, c.Body = slices.Clone(f.Arguments), slices.Clone(f.Settings), slices.Clone(f.Body)
	c.Uses = cloneUses(f.Uses)
	return &c
}

// Put creates a function or replaces its definition.
func (f *Function) Put(c *Change) error {
	if c.base.version > 0 && c.base.Schema(f.Schema) != nil {
		// conflict if the schema is renamed or dropped meanwhile
		c.add(requireOp, newKey(schemaObject, uint64(f.Schema)), nil)
	}
	return c.put(f.Clone())
}

// Drop drops a function, which nothing may use when the change is applied (2BP01).
func (f *Function) Drop(c *Change) { c.drop(functionObject, uint64(f.OID)) }

// FunctionByOID returns the function with an OID, nil if there is none.
func FunctionByOID(v *View, oid OID) *Function {
	return get[*Function](v, newKey(functionObject, uint64(oid)))
}

// FunctionsNamed returns the functions with a name in a schema.
func FunctionsNamed(v *View, schema OID, name string) []*Function {
	var out []*Function
	for _, f := range named[*Function](v, functionNames, schema, name+"\x00") {
		out = append(out, f)
	}
	return out
}

// FunctionsIn returns the functions of a schema by name.
func FunctionsIn(v *View, schema OID) iter.Seq[*Function] {
	return values(named[*Function](v, functionNames, schema))
}

// FunctionsOf returns the functions of a database by OID.
func FunctionsOf(v *View, database OID) iter.Seq[*Function] {
	return func(yield func(*Function) bool) {
		for f := range all[*Function](v, functionObject) {
			if f.Database == database && !yield(f) {
				return
			}
		}
	}
}

// HasFunctions reports whether a database has functions of users.
func HasFunctions(v *View, database OID) bool {
	for range FunctionsOf(v, database) {
		return true
	}
	return false
}

// StoredFunctionName is what the names of functions of users begin with in stored expressions, so that
// they can be renamed: sherd.function_16500.
const StoredFunctionName = "sherd.function_"

// functionsInText calls f with the OID of each function that a stored expression names.
func functionsInText(text string, f func(OID)) { numbersInText(text, StoredFunctionName, f) }

// FunctionsInText returns the OIDs of the functions that stored expressions name.
func FunctionsInText(texts ...string) []OID {
	var out []OID
	add := distinct(&out)
	for _, text := range texts {
		functionsInText(text, add)
	}
	return out
}

// UsedInText reports whether a stored expression names a function.
func (f *Function) UsedInText(text string) bool {
	found := false
	functionsInText(text, func(n OID) { found = found || n == f.OID })
	return found
}

// numbersInText calls f with the number behind each occurrence of a prefix.
func numbersInText(text, prefix string, f func(OID)) {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, prefix)
		if !ok {
			return
		}
		rest = after
		end := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(after)
		}
		if n, err := strconv.ParseUint(after[:end], 10, 32); err == nil {
			f(OID(n))
		}
	}
}

// distinct returns a function that adds numbers to a list, each once and 0 never.
func distinct(list *[]OID) func(OID) {
	return func(n OID) {
		if n != 0 && !slices.Contains(*list, n) {
			*list = append(*list, n)
		}
	}
}

// Texts returns the stored expressions of a table, and the query of a view.
func (t *Table) Texts() (out []string) {
	t.eachText(func(text string) { out = append(out, text) })
	return out
}

// eachText calls f with each stored expression of a table, and with the query of a view.
func (t *Table) eachText(f func(string)) {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Stored() {
			f(c.Default)
			f(c.Generated)
		}
	}
	for i := range t.Constraints {
		f(t.Constraints[i].Check)
	}
	for i := range t.Indexes {
		for _, text := range t.Indexes[i].Expressions {
			f(text)
		}
		f(t.Indexes[i].Predicate)
	}
	for i := range t.Statistics {
		for _, text := range t.Statistics[i].Expressions {
			f(text)
		}
	}
	if t.View != nil {
		f(t.View.Query)
	}
	for i := range t.Triggers {
		f(t.Triggers[i].When)
	}
	for _, x := range t.RowPolicies() {
		f(x.Using)
		f(x.Check)
	}
}

// usedFunctions returns the OIDs of the functions of users that a table uses.
func (t *Table) usedFunctions() []OID {
	var out []OID
	add := distinct(&out)
	t.eachText(func(text string) { functionsInText(text, add) })
	for i := range t.Triggers {
		if n := t.Triggers[i].Function; n >= FirstOID {
			add(n)
		}
	}
	return out
}

// UsesFunctions reports whether the definition of a table uses functions of users.
func (t *Table) UsesFunctions() bool { return len(t.usedFunctions()) > 0 }

// usedFunctions returns the OIDs of the functions of users that the definition of a domain uses.
func (t *Type) usedFunctions() []OID {
	if t.Domain == nil {
		return nil
	}
	var out []OID
	add := distinct(&out)
	functionsInText(t.Domain.Default, add)
	for i := range t.Domain.Checks {
		functionsInText(t.Domain.Checks[i].Check, add)
	}
	return out
}

// Texts returns the stored expressions and statements of a function.
func (f *Function) Texts() []string {
	out := slices.Clone(f.Body)
	for i := range f.Arguments {
		if d := f.Arguments[i].Default; d != "" {
			out = append(out, d)
		}
	}
	return out
}

// UsedFunctions returns the OIDs of the other functions that a function depends on.
func (f *Function) UsedFunctions() []OID {
	var out []OID
	add := distinct(&out)
	for _, text := range f.Texts() {
		functionsInText(text, add)
	}
	return slices.DeleteFunc(out, func(n OID) bool { return n == f.OID })
}

// UsedTypes returns the numbers of the types of users that a function depends on.
func (f *Function) UsedTypes() []OID {
	var out []OID
	add := distinct(&out)
	add(TypeNumber(f.Result))
	for i := range f.Arguments {
		add(TypeNumber(f.Arguments[i].Type))
	}
	for _, text := range f.Texts() {
		typesInText(text, add)
	}
	return out
}

// UsedRelations returns the relations and constraints that a function depends on.
func (f *Function) UsedRelations() []OID {
	var out []OID
	add := distinct(&out)
	add(f.ResultRelation)
	for i := range f.Arguments {
		add(f.Arguments[i].Relation)
	}
	for _, u := range f.Uses {
		add(u.Relation + u.Constraint) // one of them is 0
	}
	return out
}

// UseOf returns what the body of a function uses of a relation, nil if it does not use it.
func (f *Function) UseOf(relation OID) *Use {
	for i := range f.Uses {
		if f.Uses[i].Relation == relation {
			return &f.Uses[i]
		}
	}
	return nil
}

func appendFunctionKeys(keys []objectKey, functions []OID) []objectKey {
	for _, oid := range functions {
		keys = append(keys, newKey(functionObject, uint64(oid)))
	}
	return keys
}

// references returns the objects that checkReferences asks for.
func (f *Function) references() []objectKey {
	out := []objectKey{newKey(roleObject, uint64(f.Owner)), newKey(databaseObject, uint64(f.Database)),
		newKey(schemaObject, uint64(f.Schema))}
	for _, oid := range f.UsedTypes() {
		out = append(out, newKey(typeObject, uint64(oid)))
	}
	for _, oid := range f.UsedRelations() {
		out = append(out, newKey(tableObject, uint64(oid)))
	}
	return appendFunctionKeys(out, f.UsedFunctions())
}

// checkReferences checks that what a function uses exists.
func (f *Function) checkReferences(v *View) error {
	if s := v.Schema(f.Schema); s == nil || s.Database != f.Database {
		return pgerr.New(pgerr.InvalidSchemaName, "schema with OID %d does not exist", f.Schema)
	}
	for _, u := range f.Uses {
		if err := checkUse(v, f.word(), u); err != nil {
			return err
		}
	}
	for _, oid := range f.UsedRelations() {
		if v.Table(oid) == nil && v.TableOfPart(oid) == nil {
			return pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", oid)
		}
	}
	return errors.Join(checkTypesExist(v, f.Database, f.UsedTypes()),
		checkFunctionsExist(v, f.Database, f.UsedFunctions()))
}

// checkFunctionsExist checks that functions that an object of a database uses exist.
func checkFunctionsExist(v *View, database OID, oids []OID) error {
	for _, n := range oids {
		if f := FunctionByOID(v, n); f == nil || f.Database != database {
			return pgerr.New(pgerr.UndefinedFunction, "function with OID %d does not exist", n)
		}
	}
	return nil
}

// dependsOn is the error for an object that another one depends on.
func dependsOn(object, by string) error {
	return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", object).
		WithDetail("%s depends on %s", by, object).
		WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
}

// FunctionUsers are the objects that depend on a function.
type FunctionUsers struct {
	Tables    []*Table // and views
	Domains   []*Type
	Functions []*Function
}

// UsersOf returns the objects that depend on a function.
func (f *Function) UsersOf(v *View) FunctionUsers {
	var out FunctionUsers
	for t := range v.Tables(f.Database) {
		if slices.Contains(t.usedFunctions(), f.OID) {
			out.Tables = append(out.Tables, t)
		}
	}
	for t := range TypesOf(v, f.Database) {
		if slices.Contains(t.usedFunctions(), f.OID) {
			out.Domains = append(out.Domains, t)
		}
	}
	for g := range FunctionsOf(v, f.Database) {
		if slices.Contains(g.UsedFunctions(), f.OID) {
			out.Functions = append(out.Functions, g)
		}
	}
	return out
}

// checkFunctionUnused returns an error if anything depends on a dropped function.
func checkFunctionUnused(v *View, f *Function) error {
	users := f.UsersOf(v)
	switch {
	case len(users.Tables) > 0:
		return dependsOn(f.word(), relationWord(users.Tables[0]))
	case len(users.Domains) > 0:
		return dependsOn(f.word(), "type "+users.Domains[0].Name)
	case len(users.Functions) > 0:
		return dependsOn(f.word(), users.Functions[0].word())
	}
	return nil
}

// checkNoFunctionUses returns an error if a function depends on a type or relation.
func checkNoFunctionUses(v *View, key objectKey, words string) error {
	for f := range all[*Function](v, functionObject) {
		used := f.UsedRelations()
		if key.kind() == typeObject {
			used = f.UsedTypes()
		}
		if slices.Contains(used, OID(key.id())) {
			return dependsOn(words, f.word())
		}
	}
	return nil
}

// word names the function in messages.
func (f *Function) word() string {
	if f.Kind == 'p' {
		return "procedure " + f.Name
	}
	return "function " + f.Name
}

func (f *Function) check() error {
	if err := errors.Join(checkName(f.Name), checkOID(f.OID)); err != nil {
		return err
	}
	if f.Kind != 'f' && f.Kind != 'p' || f.Language == "" || (f.Source != "") == (len(f.Body) > 0) && f.Source != "" {
		return fmt.Errorf("function of kind %q in language %q", rune(f.Kind), f.Language)
	}
	for i := range f.Arguments {
		if a := &f.Arguments[i]; !strings.ContainsRune("iobvt", rune(a.Mode)) || a.Type == 0 {
			return fmt.Errorf("argument %d has mode %q", i+1, rune(a.Mode))
		}
	}
	return nil
}

func encodeFunction(f *Function) *pb.Function {
	p := &pb.Function{
		Oid: f.OID, Database: f.Database, Schema: f.Schema, Name: f.Name, Owner: f.Owner, Comment: f.Comment,
		Kind: uint32(f.Kind), Language: f.Language, Result: f.Result, ResultRelation: f.ResultRelation, Set: f.Set,
		Volatility: uint32(f.Volatility), Strict: f.Strict, Leakproof: f.Leakproof,
		SecurityDefiner: f.SecurityDefiner, Parallel: uint32(f.Parallel), Cost: f.Cost, Rows: f.Rows,
		Settings: f.Settings, Source: f.Source, Body: f.Body, Atomic: f.Atomic, Uses: encodeUses(f.Uses),
		Acl: encodeACL(f.ACL),
	}
	for i := range f.Arguments {
		a := &f.Arguments[i]
		p.Arguments = append(p.Arguments, &pb.Argument{
			Name: a.Name, Mode: uint32(a.Mode), Type: a.Type, Relation: a.Relation, Default: a.Default,
		})
	}
	return p
}

func decodeFunction(p *pb.Function) *Function {
	f := &Function{
		OID: p.GetOid(), Database: p.GetDatabase(), Schema: p.GetSchema(), Name: p.GetName(), Owner: p.GetOwner(),
		Comment: p.GetComment(), Kind: byte(p.GetKind()), Language: p.GetLanguage(), Result: p.GetResult(),
		ResultRelation: p.GetResultRelation(), Set: p.GetSet(), Volatility: byte(p.GetVolatility()),
		Strict: p.GetStrict(), Leakproof: p.GetLeakproof(), SecurityDefiner: p.GetSecurityDefiner(),
		Parallel: byte(p.GetParallel()), Cost: p.GetCost(), Rows: p.GetRows(), Settings: p.GetSettings(),
		Source: p.GetSource(), Body: p.GetBody(), Atomic: p.GetAtomic(),
		Uses: new(attNumDecoder).uses(p.GetUses()), ACL: decodeACL(p.GetAcl()),
	}
	for _, a := range p.GetArguments() {
		f.Arguments = append(f.Arguments, Argument{
			Name: a.GetName(), Mode: byte(a.GetMode()), Type: a.GetType(), Relation: a.GetRelation(),
			Default: a.GetDefault(),
		})
	}
	return f
}
