package ddl

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap/balance"
	"github.com/sherddb/sherd/sql/settings"
)

// databaseOptions are the options of CREATE DATABASE … WITH.
type databaseOptions struct {
	owner    string
	limit    int32
	topology topology
}

// readDatabaseOptions reads WITH. Every database is UTF8 in the C locale, and a copy of the empty
// template.
func (r *runner) readDatabaseOptions(list []*pg_query.Node) (databaseOptions, error) {
	o := databaseOptions{limit: -1}
	seen := map[string]bool{}
	for _, node := range list {
		e := node.GetDefElem()
		if seen[e.Defname] {
			return o, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(r.pos(e.Location))
		}
		seen[e.Defname] = true
		value := optionText(e.Arg)
		var err error
		switch e.Defname {
		case "owner":
			o.owner = value
		case "connection_limit":
			o.limit, err = connectionLimit(e.Arg)
		case "fragments", "replication_factor", "ranges", "labels":
			err = o.topology.read(e, r.pos(e.Location))
		case "template":
			err = checkTemplate(value)
		case "encoding":
			err = checkEncoding(value, e.Arg != nil, r.pos(e.Location))
		case "locale", "lc_collate", "lc_ctype", "icu_locale":
			err = checkLocale(value, e.Arg != nil)
		case "locale_provider":
			if value != "libc" {
				err = pgerr.Unsupported("locale provider %s is not supported", value).
					WithHint("Text is ordered by code points: leave LOCALE_PROVIDER out.")
			}
		case "tablespace":
			if value != "pg_default" && e.Arg != nil {
				err = pgerr.New(pgerr.UndefinedObject, `tablespace "%s" does not exist`, value)
			}
		case "is_template", "allow_connections", "strategy", "oid", "collation_version":
			if (e.Defname == "is_template") == (value != "false") && e.Defname != "strategy" {
				err = pgerr.Unsupported("option %s of CREATE DATABASE is not supported yet",
					strings.ToUpper(e.Defname)).WithHint("Leave it out.")
			}
		default:
			err = pgerr.New(pgerr.SyntaxError, `option "%s" not recognized`, e.Defname).At(r.pos(e.Location))
		}
		if err != nil {
			return o, err
		}
	}
	return o, o.topology.check()
}

func connectionLimit(arg *pg_query.Node) (int32, error) {
	if arg == nil {
		return -1, nil
	}
	n := arg.GetInteger().GetIval()
	if n < -1 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid connection limit: %d", n)
	}
	return n, nil
}

func checkTemplate(name string) error {
	switch name {
	case "", "template0", "template1":
		return nil
	}
	return pgerr.Unsupported("creating a database from a template is not supported yet").
		WithHint("Create it empty, then COPY its tables.")
}

// encodings matches the encodings that PostgreSQL knows besides UTF8, in lower case without
// punctuation.
var encodings = regexp.MustCompile(
	`^(sqlascii|eucjp|euccn|euckr|euctw|eucjis2004|muleinternal|latin([1-9]|10)|iso8859[0-9]+|koi8[ru]?|` +
		`win[0-9]+|windows[0-9]+|big5|gbk|gb18030|sjis|uhc|johab|shiftjis2004|abc|alt|mskanji|shiftjis|tcvn|` +
		`vscii|[0-9]+)$`)

func checkEncoding(name string, given bool, pos int) error {
	plain := strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(name))
	switch {
	case plain == "utf8", plain == "unicode", plain == "6", !given:
		return nil
	case !encodings.MatchString(plain):
		return pgerr.New(pgerr.UndefinedObject, "%s is not a valid encoding name", name).At(pos)
	}
	return pgerr.Unsupported("encoding %s is not supported", name).WithHint("Databases are UTF8.")
}

func checkLocale(name string, given bool) error {
	switch strings.ToLower(name) {
	case "c", "posix", "c.utf-8", "c.utf8":
		return nil
	}
	if !given {
		return nil
	}
	return pgerr.Unsupported("locale %s is not supported", name).
		WithHint("Text is ordered by code points: use C.UTF-8 or leave LOCALE out.")
}

func (r *runner) createDatabase(n *pg_query.CreatedbStmt) error {
	o, err := r.readDatabaseOptions(n.Options)
	if err != nil {
		return err
	}
	var oid catalog.OID
	err = r.update(func(c *change) error {
		owner := c.me
		if o.owner != "" {
			if owner, err = c.newOwnerNamed(o.owner); err != nil {
				return err
			}
		}
		if !c.me.Superuser && !c.me.CreateDB {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to create database")
		}
		if c.view.DatabaseByName(n.Dbname) != nil {
			return pgerr.New(pgerr.DuplicateDatabase, `database "%s" already exists`, n.Dbname)
		}
		oid, err = c.newDatabase(n.Dbname, owner.OID, o)
		return err
	})
	if err != nil {
		return err
	}
	if d := r.View().Database(oid); d != nil {
		return r.WaitDatabase(r.ctx, d)
	}
	return nil
}

func (c *change) newOwnerNamed(name string) (*catalog.Role, error) {
	return c.newOwner(&pg_query.RoleSpec{Roletype: pg_query.RoleSpecType_ROLESPEC_CSTRING, Rolename: name})
}

// newDatabase creates a database and its schema public.
func (c *change) newDatabase(name string, owner catalog.OID, o databaseOptions) (catalog.OID, error) {
	oid, err := c.newOID()
	if err != nil {
		return 0, err
	}
	public, err := c.newOID()
	if err != nil {
		return 0, err
	}
	d := &catalog.Database{OID: oid, Name: name, Owner: owner, ConnectionLimit: o.limit}
	if err := c.placeFragments(d, o.topology); err != nil {
		return 0, err
	}
	if err := c.ch.PutDatabase(d); err != nil {
		return 0, err
	}
	made := fmt.Sprintf("created with %d fragments of %d replicas", len(d.Fragments), d.ReplicationFactor)
	if err := c.log(catalog.DatabaseRecord, oid, name, made); err != nil {
		return 0, err
	}
	return oid, c.ch.PutSchema(&catalog.Schema{
		OID: public, Database: oid, Name: "public", Owner: catalog.DatabaseOwnerRole,
		Comment: catalog.PublicSchemaComment,
	})
}

func (c *change) databaseNamed(name string) (*catalog.Database, error) {
	d := c.view.DatabaseByName(name)
	if d == nil {
		return nil, pgerr.New(pgerr.InvalidCatalogName, `database "%s" does not exist`, name)
	}
	return d, nil
}

func (r *runner) dropDatabase(n *pg_query.DropdbStmt) error {
	force := false
	for _, o := range n.Options {
		if o.GetDefElem().GetDefname() != "force" {
			return pgerr.New(pgerr.SyntaxError, `unrecognized DROP DATABASE option "%s"`, o.GetDefElem().GetDefname()).
				At(r.pos(o.GetDefElem().Location))
		}
		force = true
	}
	return r.update(func(c *change) error {
		d, err := c.databaseNamed(n.Dbname)
		if err != nil {
			if n.MissingOk {
				c.noticeSkipped(pgerr.From(err))
				return nil
			}
			return err
		}
		if err := c.mustOwnDatabase(d); err != nil {
			return err
		}
		if d.OID == c.Database {
			return pgerr.New(pgerr.ObjectInUse, "cannot drop the currently open database")
		}
		if err := c.checkNoSessions(d, force); err != nil {
			return err
		}
		for j := range c.view.Jobs() {
			if j.Database == d.OID {
				c.ch.DropJob(j.ID)
			}
		}
		c.ch.DropDatabase(d.OID)
		return c.log(catalog.DatabaseRecord, d.OID, d.Name, "dropped")
	})
}

// checkNoSessions returns an error if other sessions use a database.
func (c *change) checkNoSessions(d *catalog.Database, force bool) error {
	n, err := c.Disconnect(c.ctx, d.OID, force)
	if err != nil || n == 0 {
		return err
	}
	e := pgerr.New(pgerr.ObjectInUse, `database "%s" is being accessed by other users`, d.Name)
	if n == 1 {
		return e.WithDetail("There is 1 other session using the database.")
	}
	return e.WithDetail("There are %d other sessions using the database.", n)
}

func (r *runner) renameDatabase(from, to string) error {
	return r.update(func(c *change) error {
		d, err := c.databaseNamed(from)
		if err != nil {
			return err
		}
		if err := c.mustOwnDatabase(d); err != nil {
			return err
		}
		if !c.me.Superuser && !c.me.CreateDB {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to rename database")
		}
		if c.view.DatabaseByName(to) != nil {
			return pgerr.New(pgerr.DuplicateDatabase, `database "%s" already exists`, to)
		}
		if d.OID == c.Database {
			return pgerr.Unsupported("current database cannot be renamed")
		}
		if err := c.checkNoSessions(d, false); err != nil {
			return err
		}
		d = d.Clone()
		d.Name = to
		return errors.Join(c.ch.PutDatabase(d), c.log(catalog.DatabaseRecord, d.OID, to, "renamed from "+from))
	})
}

// alterDatabase is ALTER DATABASE … WITH CONNECTION LIMIT, REPLICATION_FACTOR, FRAGMENTS, LABELS.
func (r *runner) alterDatabase(n *pg_query.AlterDatabaseStmt) error {
	if done, err := r.alterFragments(n); done {
		return err
	}
	if done, err := r.alterLabels(n); done {
		return err
	}
	return r.update(func(c *change) error {
		d, err := c.databaseNamed(n.Dbname)
		if err != nil {
			return err
		}
		if err := c.mustOwnDatabase(d); err != nil {
			return err
		}
		d = d.Clone()
		for _, o := range n.Options {
			if err := c.alterDatabaseOption(d, o.GetDefElem()); err != nil {
				return err
			}
		}
		return c.ch.PutDatabase(d)
	})
}

func (c *change) alterDatabaseOption(d *catalog.Database, e *pg_query.DefElem) (err error) {
	switch e.Defname {
	case "connection_limit":
		d.ConnectionLimit, err = connectionLimit(e.Arg)
		return err
	case "replication_factor":
		var t topology
		if err := t.read(e, c.pos(e.Location)); err != nil {
			return err
		}
		was := d.ReplicationFactor
		d.ReplicationFactor = t.replication
		c.noticeReplicas(d)
		if was == d.ReplicationFactor {
			return nil
		}
		return c.log(catalog.ReplicasRecord, d.OID, d.Name, fmt.Sprintf("%d replicas of each fragment instead of %d",
			d.ReplicationFactor, was))
	case "ranges":
		return pgerr.Unsupported("RANGES of a database that is there cannot be set").
			WithHint("sherd.move_buckets moves a range of buckets to a fragment.")
	}
	return pgerr.Unsupported("option %s of ALTER DATABASE is not supported yet", strings.ToUpper(e.Defname)).
		WithHint("Leave it out.")
}

func (r *runner) alterDatabaseSet(n *pg_query.AlterDatabaseSetStmt) error {
	return r.update(func(c *change) error {
		d, err := c.databaseNamed(n.Dbname)
		if err != nil {
			return err
		}
		if err := c.mustOwnDatabase(d); err != nil {
			return err
		}
		d = d.Clone()
		if d.Settings, err = c.changeSettings(d.Settings, n.Setstmt); err != nil {
			return err
		}
		return errors.Join(c.ch.PutDatabase(d), c.logSetting(d.OID, "database "+d.Name, n.Setstmt))
	})
}

// changeSettings applies SET or RESET to the settings that new sessions start with.
func (c *change) changeSettings(old map[string]string, n *pg_query.VariableSetStmt) (map[string]string, error) {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]string{}
	}
	switch n.Kind {
	case pg_query.VariableSetKind_VAR_RESET_ALL:
		return nil, nil
	case pg_query.VariableSetKind_VAR_RESET, pg_query.VariableSetKind_VAR_SET_DEFAULT:
		delete(out, strings.ToLower(n.Name))
		return out, nil
	case pg_query.VariableSetKind_VAR_SET_VALUE:
	default:
		return nil, pgerr.Unsupported("SET … FROM CURRENT is not supported yet").WithHint("Write the value out.")
	}
	value, err := settings.Text(n.Name, n.Args)
	if err != nil {
		return nil, err
	}
	if value, err = c.Setting(n.Name, value); err != nil {
		return nil, err
	}
	out[strings.ToLower(n.Name)] = value
	return out, nil
}

// alterSystem is ALTER SYSTEM of the cluster's parameters. They take effect at once on every node.
func (r *runner) alterSystem(n *pg_query.AlterSystemStmt) error {
	return r.update(func(c *change) error {
		if !c.me.Superuser {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to execute ALTER SYSTEM command")
		}
		set := n.Setstmt
		if set.Kind == pg_query.VariableSetKind_VAR_RESET_ALL {
			return errors.Join(c.ch.DropSettings(), c.logSetting(0, "cluster", set))
		}
		d, err := ofCluster(set.Name)
		if err != nil {
			return err
		}
		if set.Kind != pg_query.VariableSetKind_VAR_SET_VALUE {
			return errors.Join(c.ch.DropSetting(d.Name), c.logSetting(0, "cluster", set))
		}
		value, err := settings.Text(set.Name, set.Args)
		if err != nil {
			return err
		}
		if value, err = d.Check(value); err != nil {
			return err
		}
		if _, err := balance.ParseWindows(value); err != nil && d.Name == "sherd.balancer_windows" {
			return pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": "%s"`, d.Name, value).
				WithDetail("%s.", err).
				WithHint("Windows are times in UTC: '22:00-06:00', 'mon-fri 01:00-05:00, sat 00:00-24:00'; empty is " +
					"always.")
		}
		if n, err := strconv.Atoi(value); err == nil && d.Name == "sherd.segment_size" && n > 0 && n < leastSegment {
			return pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": %d kB`, d.Name, n).
				WithHint("Segments of less than %d kB cost more than they are worth; 0 splits none.", leastSegment)
		}
		return errors.Join(c.ch.PutSetting(catalog.Setting{Name: d.Name, Value: value}),
			c.logSetting(0, "cluster", set))
	})
}

// leastSegment is the smallest limit for the size of segments, in kB.
const leastSegment = 1024

// ofCluster finds a parameter that ALTER SYSTEM may change.
func ofCluster(name string) (*settings.Definition, error) {
	d, ok := settings.Lookup(name)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedObject, `unrecognized configuration parameter "%s"`, name)
	}
	if d.ClusterWide() {
		return d, nil
	}
	e := pgerr.Unsupported("ALTER SYSTEM of parameter %s is not supported", d.Name)
	if d.Context == "user" || d.Context == "superuser" {
		e = e.WithHint("ALTER DATABASE … SET and ALTER ROLE … SET say what sessions begin with.")
	}
	return nil, e
}
