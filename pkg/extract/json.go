package extract

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// json reads JSON and JSON Lines. Objects become headings and "path: value" lines, each object of an array becomes
// one row, so that a record is found and shown as a whole. What is not valid JSON is read as plain text.
func (p *parser) json() error {
	text, err := p.decoded("json")
	if err != nil {
		return err
	}
	values := countJSON(text)
	if values == 0 {
		p.out.warn("the file is not valid JSON and was read as plain text")
		p.doc.MIMEType = TypeText
		return p.paragraphs(bufio.NewReader(strings.NewReader(text)))
	}
	w := &jsonWalker{p: p, dec: json.NewDecoder(strings.NewReader(text))}
	w.dec.UseNumber()
	for {
		tok, err := w.dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return damaged("JSON document", err)
		}
		rec := &record{row: values > 1}
		if err := w.value(tok, "", 1, rec); err != nil {
			return err
		}
		if err := rec.flush(p.out); err != nil {
			return err
		}
	}
}

// countJSON counts the values in a JSON or JSON Lines text; 0 when it is not valid or nested beyond bearing.
func countJSON(text string) int {
	dec := json.NewDecoder(strings.NewReader(text))
	values := 0
	for depth := 0; ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) && depth == 0 {
			return values
		}
		if err != nil {
			return 0
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > maxDepth {
			return 0
		}
		if depth == 0 {
			values++
		}
	}
}

// record gathers the "path: value" pairs that belong into one block.
type record struct {
	row   bool // an element of an array: one block, pairs parted by "; "
	pairs []string
	size  int
}

func (r *record) add(path, value string) {
	value = strings.TrimSpace(value)
	if value == "" {
		return
	}
	if path != "" {
		value = path + ": " + value
	}
	r.pairs = append(r.pairs, value)
	r.size += len(value) + 2
}

func (r *record) flush(out *sink) error {
	if len(r.pairs) == 0 {
		return nil
	}
	b := domain.Block{Kind: domain.BlockParagraph, Text: strings.Join(r.pairs, "\n")}
	if r.row {
		b = domain.Block{Kind: domain.BlockTableRow, Text: strings.Join(r.pairs, "; ")}
	}
	r.pairs, r.size = r.pairs[:0], 0
	return out.add(b)
}

type jsonWalker struct {
	p     *parser
	dec   *json.Decoder
	depth int
}

// value walks the value that starts with tok. path is its label within rec; level is its heading level, which ends
// where an array begins: inside records there are no headings.
func (w *jsonWalker) value(tok json.Token, path string, level int, rec *record) error {
	switch v := tok.(type) {
	case json.Delim:
		if w.depth++; w.depth > maxDepth {
			return fail(TooLarge, "the JSON is nested deeper than %d levels", maxDepth)
		}
		defer func() { w.depth-- }()
		if v == '{' {
			return w.object(path, level, rec)
		}
		return w.array(path, level, rec)
	case string:
		rec.add(path, v)
	case json.Number:
		rec.add(path, v.String())
	case bool:
		rec.add(path, fmt.Sprint(v))
	}
	if rec.size > maxBlockBytes/2 {
		return rec.flush(w.p.out)
	}
	return nil
}

func (w *jsonWalker) object(path string, level int, rec *record) error {
	for w.dec.More() {
		if err := w.p.ctx.Err(); err != nil {
			return err
		}
		tok, err := w.dec.Token()
		if err != nil {
			return damaged("JSON document", err)
		}
		key, _ := tok.(string)
		if tok, err = w.dec.Token(); err != nil {
			return damaged("JSON document", err)
		}
		if level == 1 && key == "title" && w.depth == 1 && w.p.doc.Title == "" {
			w.p.doc.Title, _ = tok.(string)
		}
		_, nested := tok.(json.Delim)
		if nested && !rec.row && level <= 3 {
			if err := w.section(tok, joinPath(path, key), level, rec); err != nil {
				return err
			}
			continue
		}
		if err := w.value(tok, joinPath(path, key), level, rec); err != nil {
			return err
		}
	}
	_, err := w.dec.Token() // the closing brace
	return err
}

// section writes a nested value under a heading of its own.
func (w *jsonWalker) section(tok json.Token, name string, level int, rec *record) error {
	if err := rec.flush(w.p.out); err != nil {
		return err
	}
	if w.dec.More() {
		if err := w.p.out.heading(level, name, 0); err != nil {
			return err
		}
	}
	inner := &record{}
	if err := w.value(tok, "", level+1, inner); err != nil {
		return err
	}
	return inner.flush(w.p.out)
}

func (w *jsonWalker) array(path string, level int, rec *record) error {
	var scalars []string
	for w.dec.More() {
		if err := w.p.ctx.Err(); err != nil {
			return err
		}
		tok, err := w.dec.Token()
		if err != nil {
			return damaged("JSON document", err)
		}
		switch v := tok.(type) {
		case json.Delim:
			if rec.row { // an array inside a record stays part of it
				if err := w.value(tok, path, level, rec); err != nil {
					return err
				}
				continue
			}
			row := &record{row: true}
			if err := w.value(tok, path, level, row); err != nil {
				return err
			}
			if err := row.flush(w.p.out); err != nil {
				return err
			}
		case nil:
		default:
			scalars = append(scalars, fmt.Sprint(v))
		}
		if len(scalars) >= 1000 {
			rec.add(path, strings.Join(scalars, ", "))
			scalars = scalars[:0]
			if err := rec.flush(w.p.out); err != nil {
				return err
			}
		}
	}
	if len(scalars) > 0 {
		rec.add(path, strings.Join(scalars, ", "))
	}
	_, err := w.dec.Token() // the closing bracket
	return err
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
