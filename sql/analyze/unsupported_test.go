package analyze

import (
	"os"
	"regexp"
	"strings"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// internalWords match names that clients do not know: OIDs of types, and names of parse nodes.
var internalWords = regexp.MustCompile(
	`(?i)type [0-9]+|pg_query|\bnode\b|\bexpr\b|JSON FUNC|JSON IS PREDICATE|CONSTRUCTOR|RANGE TABLE|XML SERIALIZE`)

func refusal(t *testing.T, ctx *Context, text string) *pgerr.Error {
	t.Helper()
	list, err := parse.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if _, _, err = Statement(ctx, list[0].Node, nil); err == nil {
		return nil
	}
	return pgerr.From(err)
}

// TestUnsupportedTypes casts a literal to each type of pg_type, and checks that an error uses the
// type's SQL name.
func TestUnsupportedTypes(t *testing.T) {
	ctx := testContext(t)
	var names []string
	err := pgcatalog.Scan("pg_type", func(columns []string, row []pgcatalog.Cell) error {
		for i, c := range columns {
			if c == "typname" {
				names = append(names, row[i].Text)
			}
		}
		return nil
	})
	if err != nil || len(names) < 100 {
		t.Fatal(len(names), err)
	}
	refused := 0
	for _, name := range names {
		e := refusal(t, ctx, `SELECT 'x'::"`+name+`"`)
		if e == nil || e.Code != pgerr.FeatureNotSupported {
			continue
		}
		refused++
		if internalWords.MatchString(e.Message) || strings.HasPrefix(e.Message, "type ") && e.Hint == "" {
			t.Errorf("%s: %s (hint %q)", name, e.Message, e.Hint)
		}
	}
	if refused == 0 {
		t.Error("no type is refused")
	}
}

// TestUnsupportedNodes analyzes the examples of testdata/constructs.txt. They contain each kind of
// parse node that a query, a write or an expression can have. Each must be supported, or its error
// must have its SQL name and a hint.
func TestUnsupportedNodes(t *testing.T) {
	text, err := os.ReadFile("testdata/constructs.txt")
	if err != nil {
		t.Fatal(err)
	}
	ctx, refused, seen := testContext(t), 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		list, err := parse.Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		nodesOf(list[0].Node.ProtoReflect(), seen)
		e := refusal(t, ctx, line)
		if e == nil {
			continue
		}
		refused++
		switch {
		case e.Code != pgerr.FeatureNotSupported:
			t.Errorf("%s: %s %s", line, e.Code, e.Message)
		case internalWords.MatchString(e.Message):
			t.Errorf("%s: %s", line, e.Message)
		case e.Hint == "" && !strings.HasPrefix(e.Message, "function "):
			t.Errorf("%s: %s has no hint", line, e.Message)
		}
	}
	if refused == 0 {
		t.Error("nothing is refused")
	}
	fields := (&pg_query.Node{}).ProtoReflect().Descriptor().Oneofs().ByName("node").Fields()
	for i := range fields.Len() {
		if kind := string(fields.Get(i).Message().Name()); !seen[kind] && !strings.HasSuffix(kind, "Stmt") &&
			!notRaw[kind] {
			t.Errorf("testdata/constructs.txt has no example of %s", kind)
		}
	}
}

// nodesOf records the kinds of all nodes of a tree.
func nodesOf(m protoreflect.Message, seen map[string]bool) {
	seen[string(m.Descriptor().Name())] = true
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			for i := range v.List().Len() {
				nodesOf(v.List().Get(i).Message(), seen)
			}
		default:
			nodesOf(v.Message(), seen)
		}
		return true
	})
}

// notRaw are nodes that PostgreSQL's parser never returns for a query's text: those of analyzed
// trees, and parts of definitions.
var notRaw = map[string]bool{
	// Parts of definitions.
	"IntoClause": true, "RoleSpec": true, "TableLikeClause": true, "DefElem": true, "PartitionElem": true,
	"PartitionSpec": true, "PartitionBoundSpec": true, "PartitionRangeDatum": true, "SinglePartitionSpec": true,
	"PartitionCmd": true, "TriggerTransition": true, "AlterTableCmd": true, "ObjectWithArgs": true,
	"AccessPriv": true, "Constraint": true, "CreateOpClassItem": true, "StatsElem": true, "FunctionParameter": true,
	"InlineCodeBlock": true, "CallContext": true, "VacuumRelation": true, "PublicationTable": true,
	"PublicationObjSpec": true,
	// Nodes of analysis and planning.
	"TableFunc": true, "Var": true, "Param": true, "Aggref": true, "WindowFunc": true,
	"WindowFuncRunCondition": true, "SubscriptingRef": true, "FuncExpr": true, "OpExpr": true, "DistinctExpr": true,
	"NullIfExpr": true, "ScalarArrayOpExpr": true, "SubPlan": true, "AlternativeSubPlan": true, "FieldSelect": true,
	"FieldStore": true, "RelabelType": true, "CoerceViaIO": true, "ArrayCoerceExpr": true,
	"ConvertRowtypeExpr": true, "CollateExpr": true, "CaseTestExpr": true, "ArrayExpr": true, "RowCompareExpr": true,
	"JsonConstructorExpr": true, "JsonExpr": true, "JsonTablePath": true, "JsonTablePathScan": true,
	"JsonTableSiblingJoin": true, "MergeAction": true, "CoerceToDomain": true, "CoerceToDomainValue": true,
	"NextValueExpr": true, "InferenceElem": true, "TargetEntry": true, "RangeTblRef": true, "FromExpr": true,
	"OnConflictExpr": true, "Query": true, "RangeTblEntry": true, "RTEPermissionInfo": true,
	"RangeTblFunction": true, "TableSampleClause": true, "WithCheckOption": true, "SortGroupClause": true,
	"WindowClause": true, "RowMarkClause": true, "IntList": true, "OidList": true,
}
