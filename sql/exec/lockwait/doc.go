// Package lockwait reports requests for row locks that wait for long. The node that leads the fragment
// watches them; the report goes to the log of the client's node (log_lock_waits).
package lockwait
