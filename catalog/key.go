package catalog

import "encoding/binary"

// objectKind distinguishes kinds of descriptors. Durable, as Ref.kind: never renumber.
type objectKind uint8

const (
	clusterObject   objectKind = 1
	databaseObject  objectKind = 2
	schemaObject    objectKind = 3
	tableObject     objectKind = 4
	roleObject      objectKind = 5
	nodeObject      objectKind = 6
	jobObject       objectKind = 7
	authorityObject objectKind = 8
	tokenObject     objectKind = 9
	recordObject    objectKind = 10

	statisticsObject objectKind = 11
	typeObject       objectKind = 12
	functionObject   objectKind = 13
	lastObject                  = functionObject
)

// objectKey has the kind in the top byte and the object's number below, so objects of a kind are
// neighbours in number order.
type objectKey uint64

const maxObjectID = 1<<56 - 1

func newKey(kind objectKind, id uint64) objectKey {
	return objectKey(uint64(kind)<<56 | id&maxObjectID)
}

func (k objectKey) kind() objectKind { return objectKind(k >> 56) }
func (k objectKey) id() uint64       { return uint64(k) & maxObjectID }

// isDefinition reports whether query plans are valid only for one state of the objects of the kind.
// Nodes, jobs, records, authorities, join tokens and statistics are no definitions.
func (k objectKind) isDefinition() bool {
	return k < nodeObject || k == typeObject || k == functionObject
}

// descriptor is one of *Cluster, *Database, *Schema, *Table, *Role, *Node, *Job, *Authority,
// *JoinToken, *Record, *Statistics, *Type, *Function.
type descriptor any

func keyOf(d descriptor) objectKey {
	switch d := d.(type) {
	case *Cluster:
		return newKey(clusterObject, 0)
	case *Database:
		return newKey(databaseObject, uint64(d.OID))
	case *Schema:
		return newKey(schemaObject, uint64(d.OID))
	case *Table:
		return newKey(tableObject, uint64(d.OID))
	case *Role:
		return newKey(roleObject, uint64(d.OID))
	case *Node:
		return newKey(nodeObject, uint64(d.ID))
	case *Job:
		return newKey(jobObject, d.ID)
	case *Authority:
		return newKey(authorityObject, d.ID)
	case *JoinToken:
		return newKey(tokenObject, tokenID(d.Hash))
	case *Record:
		return newKey(recordObject, d.ID)
	case *Statistics:
		return newKey(statisticsObject, uint64(d.Table))
	case *Type:
		return newKey(typeObject, uint64(d.OID))
	case *Function:
		return newKey(functionObject, uint64(d.OID))
	}
	panic("catalog: no descriptor")
}

// nameSpace distinguishes the name spaces in which names are unique.
type nameSpace byte

const (
	databaseNames nameSpace = 'd'
	schemaNames   nameSpace = 's' // per database
	relationNames nameSpace = 'c' // per schema: tables, indexes, sequences, views
	roleNames     nameSpace = 'r'
	nodeNames     nameSpace = 'n'
	nodeBlocks    nameSpace = 'b'

	statisticsNames nameSpace = 'x' // per schema
	typeNames       nameSpace = 't' // per schema: types of users, and row types of tables
	functionNames   nameSpace = 'f' // per schema: names with the types of the arguments
)

// nameKey orders names by name space, parent and name.
func nameKey(space nameSpace, parent OID, name string) string {
	b := make([]byte, 0, 64)
	b = append(b, byte(space))
	b = binary.BigEndian.AppendUint32(b, parent)
	return string(append(b, name...))
}

// numberSpace distinguishes numbers that belong to a descriptor but are not its key.
type numberSpace uint8

const (
	partNumbers     numberSpace = 1 // OIDs of indexes, constraints and statistics objects → table
	storageNumbers  numberSpace = 2 // storage ids → table
	fragmentNumbers numberSpace = 3 // fragment ids → database
)

func numberKey(space numberSpace, n uint32) uint64 { return uint64(space)<<32 | uint64(n) }
