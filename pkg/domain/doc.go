// Package domain contains the types of Sluice and their rules: agents, datastores, datasources and their states, jobs,
// events, chunks, fragments, conversations and keys. It does no I/O and imports no other package of the module, so that
// tests can check every rule as a plain function.
package domain
