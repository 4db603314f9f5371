// Package notify is LISTEN and NOTIFY on one node: what transactions have asked for, the sessions that
// listen, and the order of delivery.
//
// Nothing is stored: a listener that is not connected misses a notification, and one that may have
// missed some loses its connection (Hub.Missed), so that it knows. Package relay delivers to the
// sessions of other nodes.
package notify
