// Package domain holds the nouns of Sluice and the rules that bind them: agents, datastores, datasources and
// their states, jobs, events, chunks, fragments, conversations, keys. It does no I/O and imports nothing else
// of this module, so that every rule in it can be tested as a plain function.
package domain
