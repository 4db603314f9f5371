package catalog

import (
	"errors"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
)

// checkReferences checks K5 for the objects of a batch: what it put refers only to existing
// objects, and no object refers to what it dropped. old is the view before the batch.
func (v *View) checkReferences(old *View, ops []op) error {
	for _, o := range ops {
		var err error
		switch o.kind {
		case putOp:
			err = v.checkPut(old, o.desc)
		case dropOp:
			err = v.checkDrop(old, o.key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *View) checkPut(old *View, d descriptor) error {
	if err := checkRolesExist(v, d); err != nil {
		return err
	}
	switch d := d.(type) {
	case *Database:
		for _, f := range d.Fragments {
			for _, id := range f.Nodes {
				if v.Node(id) == nil {
					return pgerr.New(pgerr.UndefinedObject, "node %d does not exist", id)
				}
			}
		}
		if err := v.checkTablesPrefixes(old, d); err != nil {
			return err
		}
		return v.checkOwner(d.Owner)
	case *Node:
		if d.State == NodeRemoved {
			return v.checkNodeUnused(d)
		}
	case *Schema:
		if v.Database(d.Database) == nil {
			return pgerr.New(pgerr.InvalidCatalogName, "database with OID %d does not exist", d.Database)
		}
		return v.checkOwner(d.Owner)
	case *Table:
		if s := v.Schema(d.Schema); s == nil || s.Database != d.Database {
			return pgerr.New(pgerr.InvalidSchemaName, "schema with OID %d does not exist", d.Schema)
		}
		if err := errors.Join(v.checkReferred(d), v.checkReferrers(d), checkUses(v, d), checkUsers(v, d),
			checkPolicyUses(v, d), v.checkPrefixes(d), d.checkExtendedPlaces(v)); err != nil {
			return err
		}
		if err := errors.Join(checkTypesExist(v, d.Database, d.usedTypes()),
			checkFunctionsExist(v, d.Database, d.usedFunctions())); err != nil {
			return err
		}
		return v.checkOwner(d.Owner)
	case *Function:
		return errors.Join(d.checkReferences(v), v.checkOwner(d.Owner))
	case *Type:
		if s := v.Schema(d.Schema); s == nil || s.Database != d.Database {
			return pgerr.New(pgerr.InvalidSchemaName, "schema with OID %d does not exist", d.Schema)
		}
		if err := errors.Join(checkTypesExist(v, d.Database, d.usedTypes()),
			checkFunctionsExist(v, d.Database, d.usedFunctions())); err != nil {
			return err
		}
		return v.checkOwner(d.Owner)
	case *Statistics:
		if v.Table(d.Table) == nil {
			return pgerr.New(pgerr.UndefinedTable, "table with OID %d does not exist", d.Table)
		}
	}
	return nil
}

func (v *View) checkOwner(owner OID) error {
	if v.Role(owner) == nil {
		return pgerr.New(pgerr.UndefinedObject, "role with OID %d does not exist", owner)
	}
	return nil
}

func (v *View) checkDrop(old *View, key objectKey) error {
	switch key.kind() {
	case clusterObject:
		return errors.New("catalog: the cluster cannot be dropped")
	case schemaObject:
		for t := range v.TablesIn(OID(key.id())) {
			return pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop schema %s because other objects depend on it", old.Schema(OID(key.id())).Name).
				WithDetail("%s depends on schema %s", relationWord(t), old.Schema(OID(key.id())).Name).
				WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		}
		for _, x := range ExtendedIn(v, OID(key.id())) {
			return pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop schema %s because other objects depend on it", old.Schema(OID(key.id())).Name).
				WithDetail("statistics object %s depends on schema %s", x.Name, old.Schema(OID(key.id())).Name).
				WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		}
		for t := range TypesIn(v, OID(key.id())) {
			return pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop schema %s because other objects depend on it", old.Schema(OID(key.id())).Name).
				WithDetail("type %s depends on schema %s", t.Name, old.Schema(OID(key.id())).Name).
				WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		}
		for f := range FunctionsIn(v, OID(key.id())) {
			return dependsOn("schema "+old.Schema(OID(key.id())).Name, f.word())
		}
	case typeObject:
		return errors.Join(checkTypeUnused(v, TypeByOID(old, OID(key.id()))),
			checkNoFunctionUses(v, key, "type "+TypeByOID(old, OID(key.id())).Name))
	case functionObject:
		return checkFunctionUnused(v, FunctionByOID(old, OID(key.id())))
	case tableObject:
		for _, by := range v.Referrers(OID(key.id())) {
			return pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop table %s because other objects depend on it", old.Table(OID(key.id())).Name).
				WithDetail("constraint %s on table %s depends on table %s", by.Key.Name, by.Table.Name,
					old.Table(OID(key.id())).Name).
				WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		}
		for _, by := range ViewsUsing(v, OID(key.id())) {
			on := relationWord(old.Table(OID(key.id())))
			return pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop %s because other objects depend on it", on).
				WithDetail("view %s depends on %s", by.Name, on).
				WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		}
		for _, by := range TablesGuardedBy(v, OID(key.id())) {
			return dependsOn(relationWord(old.Table(OID(key.id()))), "row policy of "+relationWord(by))
		}
		return checkNoFunctionUses(v, key, relationWord(old.Table(OID(key.id()))))
	case roleObject:
		if what := v.ownedBy(OID(key.id())); what != "" {
			return pgerr.New(pgerr.DependentObjectsStillExist,
				`role "%s" cannot be dropped because some objects depend on it`, old.Role(OID(key.id())).Name).
				WithDetail("owner of %s", what)
		}
		if what := mentions(v, OID(key.id())); what != "" {
			return pgerr.New(pgerr.DependentObjectsStillExist,
				`role "%s" cannot be dropped because some objects depend on it`, old.Role(OID(key.id())).Name).
				WithDetail("%s", what)
		}
	case nodeObject:
		if n := old.Node(uint32(key.id())); n != nil {
			return v.checkNodeUnused(n)
		}
	}
	return nil
}

// checkNodeUnused returns an error if fragments need the node.
func (v *View) checkNodeUnused(n *Node) error {
	if f := v.fragmentOn(n.ID); f != "" {
		e := pgerr.New(pgerr.DependentObjectsStillExist, `node "%s" cannot be removed because it holds fragments`,
			n.Name).
			WithDetail("It holds a replica of fragment %s.", f)
		if n.GivesReplicas() {
			return e.WithHint("Its replicas are being placed on other nodes: sherd.nodes tells how many it has left.")
		}
		return e.WithHint("Drain it first: sherd node drain %s", n.Name)
	}
	return nil
}

// ownedBy returns the name of one object that a role owns, or "".
func (v *View) ownedBy(role OID) string {
	what := ""
	v.objects.Scan(func(_ uint64, e entry) bool {
		switch d := e.desc.(type) {
		case *Database:
			if d.Owner == role {
				what = "database " + d.Name
			}
		case *Schema:
			if d.Owner == role {
				what = "schema " + d.Name
			}
		case *Type:
			if d.Owner == role {
				what = "type " + d.Name
			}
		case *Function:
			if d.Owner == role {
				what = d.word()
			}
		case *Table:
			if d.Owner == role {
				what = relationWord(d)
			}
			for i := range d.Statistics {
				if d.Statistics[i].Owner == role {
					what = "statistics object " + d.Statistics[i].Name
				}
			}
		}
		return what == ""
	})
	return what
}

// fragmentOn returns the name of one fragment with a replica on a node, or "".
func (v *View) fragmentOn(node uint32) string {
	for d := range v.Databases() {
		for i := range d.Fragments {
			if slices.Contains(d.Fragments[i].Nodes, node) {
				return d.FragmentName(&d.Fragments[i])
			}
		}
	}
	return ""
}

func relationWord(t *Table) string {
	switch t.Kind {
	case KindSequence:
		return "sequence " + t.Name
	case KindView:
		return "view " + t.Name
	case KindMaterialized:
		return "materialized view " + t.Name
	}
	return "table " + t.Name
}
