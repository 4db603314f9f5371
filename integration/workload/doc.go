// Package workload is clients that work on a database while it suffers, and what they saw, checked: lists that are appended to and read (package
// history), banks whose total never changes, stocks of many documents among which lone statements move units, and single documents as
// registers (github.com/anishathalye/porcupine). Some are read by indexes that were made after their rows.
//
// A client connects where it is told at the moment, and elsewhere when its connection ends, so that it lives through the death of any process. A
// statement that is refused had no effect; one whose answer is lost may have had, now or later. What must hold in the end is said by
// Verify, which reads everything, and by sherd.check().
package workload
