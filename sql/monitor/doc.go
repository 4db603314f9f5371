// Package monitor is what a node knows of its sessions, and the views that show it for the whole
// cluster: pg_stat_activity, pg_locks, pg_stat_database, sherd.transactions, sherd.hot_keys and others.
//
// A session keeps its Activity, and a Node makes a Report of all of them on request. A Cluster adds the
// reports of the other nodes, and Views makes rows of them. Nothing is stored, and nothing here changes
// what statements do.
package monitor
