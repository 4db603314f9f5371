package parse

import (
	"os"
	"strings"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// partOfStatement are nodes that are named like statements but are parts of others, or only occur
// in PL/pgSQL and in the bodies of SQL functions.
var partOfStatement = map[string]bool{"RawStmt": true, "PLAssignStmt": true, "ReturnStmt": true,
	"ReplicaIdentityStmt": true, "SetOperationStmt": true}

// droppedByName are kinds of objects that the DROP statements of the grammar name in RemoveType.
var droppedByName = []string{"ACCESS_METHOD", "AGGREGATE", "CAST", "COLLATION", "CONVERSION", "DOMAIN", "EVENT_TRIGGER",
	"EXTENSION", "FDW", "FOREIGN_SERVER",
	"FOREIGN_TABLE", "FUNCTION", "INDEX", "LANGUAGE", "MATVIEW", "OPCLASS", "OPERATOR", "OPFAMILY", "POLICY",
	"PROCEDURE", "PUBLICATION", "ROUTINE", "RULE",
	"SCHEMA", "SEQUENCE", "STATISTIC_EXT", "TABLE", "TRANSFORM", "TRIGGER", "TSCONFIGURATION", "TSDICTIONARY",
	"TSPARSER", "TSTEMPLATE", "TYPE", "VIEW"}

// TestNames checks Name for each kind of statement of the parser's tree: the result is a command of
// PostgreSQL's manual.
func TestNames(t *testing.T) {
	text, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		commands[strings.TrimSpace(line)] = true
	}
	check := func(kind string, n *pg_query.Node) {
		name, _, _ := strings.Cut(Name(n), " …")
		switch name {
		// for all kinds of objects; TRANSACTION is BEGIN, COMMIT and others
		case "ALTER", "CREATE", "TRANSACTION":
			return
		case "LOCK TABLE", "TRUNCATE TABLE", "DECLARE CURSOR": // tags of the commands
			return
		}
		if !commands[name] {
			t.Errorf("%s: %q is no command", kind, name)
		}
	}
	seen := 0
	fields := (&pg_query.Node{}).ProtoReflect().Descriptor().Oneofs().ByName("node").Fields()
	for i := range fields.Len() {
		kind := string(fields.Get(i).Message().Name())
		if !strings.HasSuffix(kind, "Stmt") || partOfStatement[kind] || kind == "DropStmt" {
			continue
		}
		seen++
		check(kind, nodeOf(fields.Get(i)))
	}
	if seen < 100 {
		t.Errorf("only %d kinds of statements", seen)
	}
	for _, object := range droppedByName {
		kind, ok := pg_query.ObjectType_value["OBJECT_"+object]
		if !ok {
			t.Errorf("no object type %s", object)
		}
		check("DropStmt of "+object, &pg_query.Node{
			Node: &pg_query.Node_DropStmt{DropStmt: &pg_query.DropStmt{RemoveType: pg_query.ObjectType(kind)}}})
	}
}

func nodeOf(f protoreflect.FieldDescriptor) *pg_query.Node {
	n := &pg_query.Node{}
	r := n.ProtoReflect()
	r.Set(f, r.NewField(f))
	return n
}
