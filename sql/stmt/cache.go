package stmt

import (
	"regexp"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/recent"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/literal"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/parse/shape"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// Cache keeps what was made of texts that come again, for all clients of a node. It is safe for concurrent use.
type Cache struct {
	Trees    *parse.Cache
	programs *recent.Cache[key, *Program]
	shapes   *recent.Cache[key, literal.Fixed] // of the shapes of texts; see Compiler.Shared
	tables   *analyze.TableCache               // defaults and constraints of tables, analyzed
	// Statistics returns what is known of a table's rows, by which statements are planned; nil:
	// nothing. The function itself may be nil.
	Statistics func(*catalog.View, *catalog.Table) *statistics.Table
	// Template is for tests, nil otherwise. Programs of shapes are made at once then, and not from
	// the text that needs one, but from the last other text of its shape that Template has try accept.
	Template func(t *shape.Text, fixed literal.Fixed, try func(text string) bool)
}

// key is what analysis depends on, other than the definitions.
type key struct {
	database catalog.OID
	text     string // of a statement, a shape, or a shape with its fixed literals
	params   string // declared parameter types
	ambient  string // see Compiler.Ambient
	byID     bool
	off      plan.Methods
	role     catalog.OID
}

// A program takes a hundred times the memory of its text if that is a list of values.
const (
	cachedStatements = 2048
	programText      = 16 << 10 // of longer texts the programs are not kept
	programBytes     = 512 << 10
)

// NewCache makes an empty Cache.
func NewCache() *Cache {
	return &Cache{
		Trees:    parse.NewCache(cachedStatements),
		programs: recent.New[key, *Program](cachedStatements, programBytes),
		shapes:   recent.New[key, literal.Fixed](cachedStatements, programBytes),
		tables:   analyze.NewTableCache(),
	}
}

// TypesKey returns a key of parameter types.
func TypesKey(oids []types.OID) string {
	out := make([]byte, 0, 4*len(oids))
	for _, o := range oids {
		out = append(out, byte(o), byte(o>>8), byte(o>>16), byte(o>>24))
	}
	return string(out)
}

// systemTime finds a clause of other databases in a text that PostgreSQL's grammar refuses.
var systemTime = regexp.MustCompile(`(?i)\bAS\s+OF\s+SYSTEM\s+TIME\b`)

// Parse returns the statements of a text. A syntax error says how to read the past, if the text uses
// another database's clause for it.
func (c *Cache) Parse(text string) ([]parse.Statement, error) {
	list, err := c.Trees.Parse(text)
	if pgerr.Is(err, pgerr.SyntaxError) && systemTime.MatchString(text) {
		return nil, pgerr.Unsupported("AS OF SYSTEM TIME is not supported").
			WithHint("SET LOCAL %s = '-10s' in a transaction, or BEGIN ISOLATION LEVEL REPEATABLE READ and "+
				"SET TRANSACTION SNAPSHOT 'as of …'.", tx.AsOfSetting)
	}
	return list, err
}
