// Package mcp serves the content and the agents of a workspace by the Model Context Protocol, through its official SDK: the
// tools search, fetch and ask, and the datasources as resources. Handler is the server over HTTP, Relay the one that a
// desktop client starts as a command, which passes everything on to a Handler elsewhere.
//
// search and fetch have the names, arguments and results that ChatGPT's connectors and deep research ask for; what is
// beyond that stands in further fields.
//
// The server keeps no sessions. Every request carries its key, is answered by itself, and ends when its client leaves: any
// process behind a load balancer can answer any of them, and there is nothing to bound or to lose.
package mcp
