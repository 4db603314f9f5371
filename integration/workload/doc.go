// Package workload runs clients on a database while faults happen, and checks what they saw: lists
// that are appended to and read (package history), banks whose total never changes, stocks of many
// documents among which autocommit statements move units, and single documents as registers
// (github.com/anishathalye/porcupine). Some are read by indexes that were created after their rows.
//
// A client connects where it is told, and elsewhere when its connection ends, so it survives the
// death of any process. A statement that was refused had no effect; one whose answer was lost may
// have had, now or later. Verify, which reads everything, and sherd.check() check what must be true
// at the end.
package workload
