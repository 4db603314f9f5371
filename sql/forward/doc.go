// Package forward makes queries honour the ids that documents had before sherd.replace_placement gave them others.
//
// A collection whose documents were re-placed has a table of forwarding entries (catalog.Table.Forwarding): old id, new id, at most one entry for an
// old id and always the id that the document has now. Statement goes through an analysed query, and wherever an id of such a collection is compared by
// equality with something else, it puts in the place of the something what the entries say of it:
//
//	o.id = 'a'              o.id = (the new id of 'a', else 'a')        run once, before the query; it routes as a constant does
//	o.id IN ('a', 'b')      o.id = ANY (the new ids of these || these)
//	o.id = x.ref            x LEFT JOIN entries ON old = x.ref, o.id = coalesce(new, x.ref)
//	o.id IN (SELECT …)      the subquery is joined with the entries likewise
//
// The entries are rows like all others: they are read at the statement's snapshot, by its isolation level, and that there is none is read too. So
// nothing else in planning and execution knows of forwarding.
//
// FW1. An id is found behind views, subqueries, WITH, set operations, outer joins, COALESCE, CASE, min and max. Two ids of one collection are compared as
// they are. What may be an id or another value, as COALESCE and UNION give, is looked up itself, so that a former id among the values counts as the present one.
// FW2. What cannot be honoured is refused (0A000): ids of two collections with forwarding that are compared with each other, INTERSECT and EXCEPT of ids
// with other values, comparison in other types.
// FW3. Everything but equality sees the new ids: order, ranges, patterns, functions of an id, constraints, what is answered.
//
// Limits: a statement on such a collection reads the entries even where no old id is named, one more round trip for a statement by id.
package forward
