// Package notebook reads Jupyter notebooks: their Markdown, code, and text results.
package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

const mimeType = "application/x-ipynb+json"

// Format describes Jupyter notebooks.
var Format = format.Format{
	Type: mimeType, Aliases: []string{"application/ipynb+json"}, Extensions: []string{".ipynb"},
	Name: "a Jupyter notebook", Label: "Jupyter notebook (ipynb)", Text: true, TitleFromHeading: true, Read: read, Sniff: sniff,
}

// sniff recognises a notebook by its first cell's keys, unless the file name indicates another format.
func sniff(head []byte, named string) bool {
	if named != "" && named != mimeType && named != format.TypeJSON {
		return false
	}
	s := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if !bytes.HasPrefix(s, []byte("{")) {
		return false
	}
	return named == mimeType || (bytes.Contains(s, []byte(`"cells"`)) || bytes.Contains(s, []byte(`"worksheets"`))) && bytes.Contains(s, []byte(`"cell_type"`))
}

// read reads a notebook cell by cell. Notebooks before version 4 keep their cells in worksheets.
func read(p *format.Parser) error {
	src, err := p.TextReader("ipynb", "utf-8")
	if err != nil {
		return err
	}
	r := &reader{p: p, dec: json.NewDecoder(src.Reader)}
	err = r.notebook()
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax), errors.As(err, &mistyped), errors.Is(err, errStructure), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		if r.cells == 0 {
			return format.NotA("Jupyter notebook", err)
		}
		p.Out.Warn(fmt.Sprintf("the notebook is damaged; only its first %d %s read", r.cells, format.Plural(r.cells, "cell was", "cells were")))
		return nil
	}
	return err
}

// errStructure means that a value's structure violates the format.
var errStructure = errors.New("unexpected structure")

type reader struct {
	p     *format.Parser
	dec   *json.Decoder
	cells int // number of cells read
}

func (r *reader) notebook() error {
	return r.object(func(key string) error {
		switch key {
		case "cells":
			return r.array(r.cell)
		case "worksheets":
			return r.array(func() error {
				return r.object(func(key string) error {
					if key == "cells" {
						return r.array(r.cell)
					}
					return r.skip()
				})
			})
		case "metadata":
			return r.metadata()
		}
		return r.skip()
	})
}

// object calls `value` for each key of the next value, which must be an object. The callback must read the key's value.
func (r *reader) object(value func(key string) error) error {
	if err := r.delimiter('{'); err != nil {
		return err
	}
	for r.dec.More() {
		tok, err := r.dec.Token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return errStructure
		}
		if err := value(key); err != nil {
			return err
		}
	}
	return r.delimiter('}')
}

// array calls `element` for each element of the next value, which must be an array. The callback must read one element.
func (r *reader) array(element func() error) error {
	if err := r.delimiter('['); err != nil {
		return err
	}
	for r.dec.More() {
		if err := r.p.Ctx.Err(); err != nil {
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
	return r.delimiter(']')
}

func (r *reader) delimiter(want json.Delim) error {
	tok, err := r.dec.Token()
	if err != nil {
		return err
	}
	if tok != want {
		return errStructure
	}
	return nil
}

func (r *reader) skip() error {
	var value json.RawMessage
	return r.dec.Decode(&value)
}

// metadata records a notebook's declared title and authors.
func (r *reader) metadata() error {
	var raw json.RawMessage
	if err := r.dec.Decode(&raw); err != nil {
		return err
	}
	var meta struct {
		Title   lines `json:"title"`
		Authors []struct {
			Name lines `json:"name"`
		} `json:"authors"`
	}
	if json.Unmarshal(raw, &meta) != nil {
		return nil // programs may put anything here
	}
	if r.p.Doc.Title == "" {
		r.p.Doc.Title = string(meta.Title)
	}
	var names []string
	for _, a := range meta.Authors[:min(len(meta.Authors), 20)] {
		if a.Name != "" {
			names = append(names, string(a.Name))
		}
	}
	r.p.Meta(domain.MetaAuthor, strings.Join(names, "; "))
	return nil
}

// lines is text stored as a string or a list of lines. Any other value becomes "".
type lines string

// UnmarshalJSON implements json.Unmarshaler.
func (l *lines) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = lines(one)
		return nil
	}
	var many []string
	if json.Unmarshal(data, &many) == nil {
		*l = lines(strings.Join(many, ""))
	}
	return nil
}

// number is an integer. Any other value becomes 0.
type number int

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(data []byte) error {
	var i int
	if json.Unmarshal(data, &i) == nil {
		*n = number(i)
	}
	return nil
}

// cell is a cell in any version of the notebook format.
type cell struct {
	Type    lines             `json:"cell_type"`
	Source  lines             `json:"source"`
	Input   lines             `json:"input"` // code before version 4
	Level   number            `json:"level"` // heading level before version 4
	Outputs []json.RawMessage `json:"outputs"`
}

func (r *reader) cell() error {
	var c cell
	if err := r.dec.Decode(&c); err != nil {
		return err
	}
	r.cells++
	switch c.Type {
	case "markdown":
		return r.p.Piece(format.TypeMarkdown, strings.NewReader(string(c.Source)))
	case "heading":
		return r.p.Out.Heading(int(c.Level), string(c.Source), 0)
	case "html":
		return r.p.Piece(format.TypeHTML, strings.NewReader(string(c.Source)))
	case "code":
		if err := r.p.Out.Add(domain.Block{Kind: domain.BlockCode, Text: string(c.Source) + string(c.Input)}); err != nil {
			return err
		}
		return r.outputs(c.Outputs)
	}
	return r.p.Piece(format.TypeText, strings.NewReader(string(c.Source))) // raw text, for programs that convert notebooks
}
