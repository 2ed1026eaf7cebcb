// Package yaml reads YAML as package json reads JSON, including its comments.
package yaml

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/sluice/sluice/pkg/extract/format"
)

// maxYAML is the maximum size, in bytes, of text to parse as YAML. The parser needs the whole text in memory.
const maxYAML = 16 << 20

// Format describes YAML.
var Format = format.Format{
	Type: "application/yaml", Aliases: []string{"application/x-yaml", "text/yaml", "text/x-yaml", "text/vnd.yaml"}, Extensions: []string{".yaml", ".yml"},
	Name: "YAML", Label: "YAML", Text: true, Read: read,
}

// read reads a stream of YAML documents. Text that is not valid YAML, such as a template, is read as plain text.
func read(p *format.Parser) error {
	if p.Src.Size > maxYAML {
		p.Out.Warn("the YAML is longer than " + format.SizeText(maxYAML) + ", so it was read as plain text")
		src, err := p.TextReader("yaml/text", "utf-8")
		if err != nil {
			return err
		}
		return p.Piece(format.TypeText, src.Reader)
	}
	source, err := p.Decoded("yaml")
	if err != nil {
		return err
	}
	documents, err := parse(p, source)
	if p.Ctx.Err() != nil {
		return p.Ctx.Err()
	}
	if err != nil {
		p.Out.Warn("the file is not valid YAML and was read as plain text: " + strings.TrimPrefix(err.Error(), "yaml: "))
		return p.Piece(format.TypeText, strings.NewReader(source))
	}
	w := &writer{p: p, left: maxAliased}
	for _, d := range documents {
		if err := w.document(d); err != nil {
			return err
		}
	}
	if w.cut {
		p.Out.Warn(fmt.Sprintf("aliases were expanded up to %s; the rest were skipped", format.SizeText(maxAliased)))
	}
	if !w.structured { // just words
		return p.Piece(format.TypeText, strings.NewReader(source))
	}
	return p.Piece(format.TypeJSON, strings.NewReader(w.out.String()))
}

// errDamaged means that the parser failed on a document without giving a reason.
var errDamaged = errors.New("its structure is damaged")

// parse returns the documents in a stream.
func parse(p *format.Parser, source string) (documents []*yaml.Node, err error) {
	defer func() {
		if recover() != nil { // the parser panics on some damaged texts
			documents, err = nil, errDamaged
		}
	}()
	dec := yaml.NewDecoder(strings.NewReader(source))
	for {
		if err := p.Ctx.Err(); err != nil {
			return nil, err
		}
		var document yaml.Node
		if err := dec.Decode(&document); err != nil {
			if errors.Is(err, io.EOF) {
				return documents, nil
			}
			return nil, err
		}
		documents = append(documents, &document)
	}
}
