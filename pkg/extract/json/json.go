// Package json reads JSON and JSON Lines.
package json

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// probeSize is the number of leading bytes examined to recognise JSON and JSON Lines.
const probeSize = 64 << 10

// read reads JSON and JSON Lines as a stream. Objects become headings and "path: value" lines. An object in an array
// becomes one row, so that search shows the whole record. Invalid JSON is read as plain text.
func read(p *format.Parser) error {
	src, err := p.TextReader("json", "utf-8") // RFC 8259, section 8.1
	if err != nil {
		return err
	}
	return piece(p, src.Reader)
}

// piece reads JSON already decoded to UTF-8.
func piece(p *format.Parser, text io.Reader) error {
	r := bufio.NewReaderSize(text, probeSize)
	head, err := r.Peek(probeSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	lines, structured, valid := probeJSON(p, head)
	if !structured || !valid { // a single word or number is valid JSON but usually meant as plain text
		if !valid {
			p.Out.Warn("the file is not valid JSON and was read as plain text")
		}
		p.Doc.MIMEType = format.TypeText
		return p.Piece(format.TypeText, r)
	}
	w := &walker{p: p, scan: newJSONScanner(r), lines: lines}
	err = w.run()
	var syntax *syntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		p.Out.Warn("the file ends in the middle of a value; the content before it was read")
	case errors.As(err, &syntax):
		p.Out.Warn("the JSON is invalid on line " + strconv.Itoa(syntax.line) + "; the rest was read as plain text")
		return p.Piece(format.TypeText, io.MultiReader(strings.NewReader(syntax.text), r))
	case err != nil:
		return err
	}
	if w.scan.cut {
		p.Out.Warn("a string was cut after " + format.SizeText(maxJSONString))
	}
	return nil
}

// probeJSON examines the start of the text. `valid` means that the text is JSON, at least up to a damaged record.
// `structured` means that the text has objects or arrays. `lines` means that the text is a sequence of values, as in
// JSON Lines.
func probeJSON(p *format.Parser, head []byte) (lines, structured, valid bool) {
	trial := &format.Parser{Ctx: context.Background(), Src: p.Src, Lim: p.Lim, Doc: &domain.Document{}}
	trial.Out = &format.Sink{Emit: func(domain.Block) error { return nil }, Left: 1 << 40}
	r := bufio.NewReaderSize(bytes.NewReader(head), probeSize)
	w := &walker{p: trial, scan: newJSONScanner(r)}
	err := w.run()
	var syntax *syntaxError
	valid = err == nil || errors.Is(err, io.ErrUnexpectedEOF) || w.values > 0 && errors.As(err, &syntax)
	if _, rest := r.Peek(1); rest != nil && len(head) == probeSize && format.KindOf(err) == "" {
		valid = true // a word truncated at the end of `head` may have caused the error
	}
	named := strings.ToLower(path.Ext(p.Src.Name))
	return w.values > 1 || w.topLevelValues > 1 || named == ".jsonl" || named == ".ndjson", w.hasStructure, valid
}

// record collects the "path: value" pairs for one block.
type record struct {
	row   bool // the record is an element of an array, so "; " separates its pairs
	at    int  // line number in a JSON Lines file; 0 in other files
	plain bool // paths omit the leading names they share with the previous pair
	pairs []string
	last  []string // path of the previous pair
	size  int
}

func (r *record) add(path []string, value string) {
	value = strings.TrimSpace(value)
	if value == "" {
		return
	}
	names := path
	if r.plain {
		for len(names) > 1 && len(path)-len(names) < len(r.last)-1 && r.last[len(path)-len(names)] == names[0] {
			names = names[1:]
		}
		r.last = append(r.last[:0], path...)
	}
	if n := len(names); n > 0 && names[n-1] == "" { // the text of an element or section, which has no name
		names = names[:n-1]
	}
	if len(names) > 0 {
		value = strings.Join(names, ".") + ": " + value
	}
	r.pairs = append(r.pairs, value)
	r.size += len(value) + 2
}

func (r *record) flush(out *format.Sink) error {
	if len(r.pairs) == 0 {
		return nil
	}
	b := domain.Block{Kind: domain.BlockParagraph, Text: strings.Join(r.pairs, "\n"), Row: r.at}
	if r.row {
		b.Kind, b.Text = domain.BlockTableRow, strings.Join(r.pairs, "; ")
	}
	r.pairs, r.size, r.last = r.pairs[:0], 0, r.last[:0]
	return out.Add(b)
}

// walker converts tokens to blocks. It holds at most one record in memory.
type walker struct {
	p              *format.Parser
	scan           *scanner
	lines          bool // the text is a sequence of values, each of which is a row
	values         int  // number of top-level values read completely
	topLevelValues int  // number of top-level values started
	hasStructure   bool // there was an object or array
	depth          int
}

func (w *walker) run() error {
	for {
		tok, err := w.scan.next()
		if err != nil {
			return err
		}
		switch tok {
		case end:
			return nil
		case ',':
			continue // the values may be separated by commas
		}
		w.topLevelValues++
		if tok == '{' || tok == '[' {
			w.hasStructure = true
		} else if !w.lines && w.values == 0 && tok == word && !isJSONValue(w.scan.text) {
			return w.errorAtText("unknown value")
		}
		rec := w.record(w.lines)
		if w.lines {
			rec.at = w.scan.line
		}
		err = w.value(tok, nil, 1, rec)
		if flushed := rec.flush(w.p.Out); err == nil {
			err = flushed
		}
		if err != nil {
			return err
		}
		w.values++
	}
}

func (w *walker) record(row bool) *record {
	return &record{row: row, plain: w.p.Src.PlainRows}
}

func (w *walker) errorInLine(what string) error {
	return &syntaxError{line: w.scan.line, what: what}
}

// errorAtText returns the error for invalid JSON. `what` describes the problem. The line and the offending text come
// from the scanner.
func (w *walker) errorAtText(what string) error {
	return &syntaxError{line: w.scan.line, what: what, text: string(w.scan.text)}
}

// value reads the value that starts with `tok`. `path` is the value's label within `rec`, and `level` is its heading
// level. Values within arrays have no headings.
func (w *walker) value(tok token, path []string, level int, rec *record) error {
	switch tok {
	case '{', '[':
		if w.depth++; w.depth > format.MaxDepth {
			return format.Errorf(format.TooLarge, "the JSON is nested deeper than %d levels", format.MaxDepth)
		}
		defer func() { w.depth-- }()
		if tok == '{' {
			return w.object(path, level, rec)
		}
		return w.array(path, level, rec)
	case jsonString, word:
		text, err := w.scalar(tok)
		if err != nil {
			return err
		}
		rec.add(path, text)
	case end:
		return io.ErrUnexpectedEOF
	default:
		return w.errorInLine("unexpected character")
	}
	if rec.size > format.MaxBlockBytes/2 {
		return rec.flush(w.p.Out)
	}
	return nil
}

// scalar returns, as text, the string or word that was just read. It returns "" for null and for encoded data.
func (w *walker) scalar(tok token) (string, error) {
	text := w.scan.text
	if tok == word {
		if !isJSONValue(text) {
			return "", w.errorAtText("unknown value")
		}
		switch string(text) {
		case "null", "undefined", "None":
			return "", nil
		}
		return string(text), nil
	}
	if isEncodedData(text) {
		w.p.Out.Warn("strings with encoded data, such as pictures, were skipped")
		return "", nil
	}
	return string(text), nil
}

// isEncodedData reports whether a string looks like Base64 or a similar encoding: it is long, has no spaces, and
// contains only characters that such encodings use.
func isEncodedData(text []byte) bool {
	if len(text) < 1024 {
		return false
	}
	if at := strings.Index(string(text[:64]), ";base64,"); at > 0 {
		return true
	}
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/', c == '-', c == '_', c == '=', c == '\n':
		default:
			return false
		}
	}
	return true
}

func (w *walker) object(path []string, level int, rec *record) error {
	for {
		if err := w.p.Ctx.Err(); err != nil {
			return err
		}
		tok, err := w.scan.next()
		switch {
		case err != nil:
			return err
		case tok == '}':
			return nil
		case tok == ',':
			continue
		case tok == end:
			return io.ErrUnexpectedEOF
		case tok != jsonString && tok != word:
			return w.errorInLine("a key must be a string")
		}
		key := string(w.scan.text)
		if tok, err = w.scan.next(); err != nil {
			return err
		}
		if tok == end {
			return io.ErrUnexpectedEOF
		}
		if tok != ':' {
			return w.errorAtText("a key without a colon")
		}
		if tok, err = w.scan.next(); err != nil {
			return err
		}
		if key == "title" && tok == jsonString && w.depth == 1 && !w.lines && w.p.Doc.Title == "" {
			w.p.Doc.Title = string(w.scan.text)
		}
		below := append(path[:len(path):len(path)], key)
		if (tok == '{' || tok == '[') && !rec.row && level <= 3 {
			err = w.section(tok, strings.Join(below, "."), level, rec)
		} else {
			err = w.value(tok, below, level, rec)
		}
		if err != nil {
			return err
		}
	}
}

// section writes a nested value under its own heading.
func (w *walker) section(tok token, name string, level int, rec *record) error {
	if err := rec.flush(w.p.Out); err != nil {
		return err
	}
	if !w.scan.isEmpty() {
		if err := w.p.Out.Heading(level, name, 0); err != nil {
			return err
		}
	}
	inner := w.record(false)
	err := w.value(tok, nil, level+1, inner)
	if flushed := inner.flush(w.p.Out); err == nil {
		err = flushed
	}
	return err
}
