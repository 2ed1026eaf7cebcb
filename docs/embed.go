// Package docs contains the source files of the documentation. Package manual turns them into the pages at /docs.
package docs

import "embed"

// Files contains all pages, decision records, history documents, pictures and examples, by their paths within this
// directory.
//
//go:embed *.md adr/*.md adr/archive/*.md history/*.md images examples
var Files embed.FS
