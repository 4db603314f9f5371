// Package stmt compiles and runs statements.
//
// A [Program] is a statement that is ready to run. A [Compiler] makes it: it analyzes the text's tree, checks
// privileges, lets former ids of documents lead to them (package forward), plans, and compiles the plan (package
// exec). It works for one client, or for the system, and has only values of it: a database, a role, a search path,
// settings. Programs and trees of texts that come again are kept in a [Cache], which all clients of a node share.
//
// An [Executor] runs programs in a transaction (package tx) that the caller names: those of a client, and statements
// of the system, which are bound by neither privileges nor a limit on the number of fragments.
//
// The package knows neither foreign keys nor split documents. What these need around a program is attached to it by
// the functions of [Hooks].
//
// Rules:
//
//   - A program in the cache was made against definitions that are in force, and by the settings in its key alone.
//     It is used only while the catalog's definitions have the version that it was made against.
//   - A statement is run again only while its client has seen nothing of it ([HoldingWriter], [HeldRows]).
//   - A program is shared, and so never changed; neither are its query and plan.
package stmt
