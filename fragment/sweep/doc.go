// Package sweep deletes the rows and index entries of tables and indexes that were dropped.
//
// DROP, TRUNCATE and DROP INDEX remove definitions and leave a job in the catalog. A Sweeper on each
// node deletes the span of the job in the fragments that the node leads. The job stays in the
// catalog until all fragments are done, so it continues after a restart; deleting twice does no
// harm.
//
// The package never decides what is dropped.
package sweep
