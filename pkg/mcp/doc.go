// Package mcp serves a workspace's content and agents over the Model Context Protocol, using the official SDK. It
// offers the search, fetch and ask tools and serves datasources as resources. Handler is the HTTP server. Relay is a
// server that desktop clients start as a command; it forwards everything to a running service's Handler.
//
// search and fetch have the names, arguments and results required by ChatGPT's connectors and deep research. Anything
// else that Sluice returns is in separate fields.
//
// The server has no sessions. Every request contains its key and is handled on its own, so any process behind a load
// balancer can answer it. A request ends when its client disconnects.
package mcp
