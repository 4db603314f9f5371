// Package forward makes queries honour the ids that documents had before sherd.replace_placement
// changed them.
//
// A collection whose documents were placed again has a table of forwarding entries
// (catalog.Table.Forwarding): old id and new id. An old id has at most one entry, and the entry
// always has the id that the document has now. Statement walks through an analysed query. If the
// query compares an id of such a collection by equality with another value, Statement replaces that
// value by a look-up in the entries:
//
//	o.id = 'a'              o.id = (the new id of 'a', else 'a')
//	                        (run once, before the query; it routes as a constant does)
//	o.id IN ('a', 'b')      o.id = ANY (the new ids of these || these)
//	o.id = x.ref            x LEFT JOIN entries ON old = x.ref, o.id = coalesce(new, x.ref)
//	o.id IN (SELECT …)      the subquery is joined with the entries in the same way
//
// The entries are rows like all others. A query reads them at the statement's snapshot, by its
// isolation level; the absence of an entry is read too. So nothing else in planning and execution
// knows of forwarding.
//
// FW1. An id is found behind views, subqueries, WITH, set operations, outer joins, COALESCE, CASE,
// min and max. Two ids of one collection are compared as they are. A value that may be an id or
// something else, such as the result of COALESCE or UNION, is looked up itself, so that a former id
// among the values counts as the present one.
//
// FW2. Comparisons that cannot be honoured are refused (0A000): ids of two collections with
// forwarding that are compared with each other, INTERSECT and EXCEPT of ids with other values,
// comparison in other types.
//
// FW3. Everything except equality sees the new ids: order, ranges, patterns, functions of an id,
// constraints, results.
//
// Limits: a statement on such a collection reads the entries even if it names no old id. A
// statement by id then needs one more round trip.
package forward
