// Package mcp serves the content and agents of a workspace over the Model Context Protocol, using the official SDK. It
// offers the tools search, fetch and ask, and serves datasources as resources. Handler is the HTTP server. Relay is a
// server that a desktop client starts as a command; it forwards everything to the Handler of a running service.
//
// search and fetch have the names, arguments and results that ChatGPT's connectors and deep research require.
// Additional results are in separate fields.
//
// The server has no sessions. Every request contains its key and is handled on its own, so any process behind a load
// balancer can answer it. A request ends when its client disconnects.
package mcp
