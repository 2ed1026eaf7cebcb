// Package domain contains Sluice's types and their rules: agents, datastores, datasources and their states, jobs,
// events, chunks, fragments, conversations and keys. It does no I/O and imports no other package in the module, so
// every rule can be tested as a plain function.
package domain
