// Package docs contains the documentation sources. Package manual turns them into the pages at /docs.
package docs

import "embed"

// Files contains all pages, decision records, history documents, images and examples, under their paths within this
// directory.
//
//go:embed *.md adr/*.md adr/archive/*.md history/*.md images examples
var Files embed.FS
