// Package docs is the documentation as it is written. Package manual makes the pages at /docs of it.
package docs

import "embed"

// Files are all pages, decisions, history, pictures and examples, by their paths within this directory.
//
//go:embed *.md adr/*.md adr/archive/*.md history/*.md images examples
var Files embed.FS
