// Package usertype has the types that users define as statements see them: their names, the texts of
// the values of enums, and the attributes of composite types, by the definitions of one view of the
// catalog.
//
// Values are stored as ranks (sql/types/enum.go). A Source translates between ranks and texts. It is
// bound to one view, so goroutines may share it. A row may have a value that is newer than the view,
// because a statement reads its definitions before its rows; then the source asks for the newest
// definitions. A text that is unknown is an error at once.
//
// A transaction that has changed types sends their definitions with its tasks (Uncommitted), because
// other nodes do not have them.
package usertype
