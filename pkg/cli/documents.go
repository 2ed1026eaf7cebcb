package cli

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/client"
)

// Maximum size in bytes of one imported document's JSON. Matches the service's request body limit.
const maxDocument = 10 << 20

// Maximum length of a line in a list of web addresses, in bytes.
const maxLine = 8 << 10

// fields lists, for each document property, the JSON fields to try in order. Dots separate nested field names.
type fields struct {
	text, name, id, source, metadata []string
}

// defaultFields returns field names common in exports.
func defaultFields() fields {
	return fields{
		text:     []string{"text", "content", "pageContent", "page_content", "body", "config.text"},
		name:     []string{"name", "title", "metadata.title"},
		id:       []string{"custom_id", "customId", "config.custom_id", "metadata.custom_id", "id", "_id"},
		source:   []string{"source", "url", "source_url", "config.source_url", "metadata.source"},
		metadata: []string{"metadata"},
	}
}

// listFields names the JSON fields in which exports keep their lists. A list's items are documents, or objects that
// contain further lists.
var listFields = []string{"documents", "datasources", "datastores", "data", "items", "results", "records", "pages"}

// errUnusable says why a single document cannot be imported. The import continues with the others.
type errUnusable struct {
	name, why string
	left      bool // report the document as skipped rather than failed, because nothing is lost
}

func (e *errUnusable) Error() string { return e.why }

// readDocuments iterates over an import's documents. These are JSON objects, either one after another, in an array, or
// nested in an export's lists. An errUnusable concerns a single document, and the iteration continues after it. Any
// other error ends the iteration.
func readDocuments(r io.Reader, f fields) iter.Seq2[*document, error] {
	return func(yield func(*document, error) bool) {
		in := &bounded{r: bufio.NewReader(r)}
		dec := json.NewDecoder(in)
		dec.UseNumber()
		w := &walker{dec: dec, in: in, fields: f, yield: yield}
		for {
			err := w.value(0)
			switch {
			case errors.Is(err, errStopped), errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(nil, w.errorAt(err))
				return
			}
		}
	}
}

// errStopped stops reading an import when the loop over its documents ends early.
var errStopped = errors.New("stopped by the consumer")

// bounded is a reader that fails if the current document, which starts at offset `mark`, becomes too large.
type bounded struct {
	r          *bufio.Reader
	read, mark int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.read-b.mark > 2*maxDocument { // twice the limit, because the decoder reads ahead
		return 0, fmt.Errorf("exceeds the service's limit of %d MiB", maxDocument>>20)
	}
	n, err := b.r.Read(p[:min(len(p), 1<<20)])
	b.read += int64(n)
	return n, err
}

// walker finds documents in JSON.
type walker struct {
	dec    *json.Decoder
	in     *bounded
	fields fields
	yield  func(*document, error) bool
	n      int // number of documents found so far
}

// Maximum nesting depth of lists. An export may contain datastores that contain datasources, for example.
const maxLists = 4

// value reads a JSON value: an array of values, a document, or an object with lists of documents.
func (w *walker) value(depth int) error {
	w.in.mark = w.dec.InputOffset()
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		if depth >= maxLists {
			return fmt.Errorf("has lists nested more than %d levels deep", maxLists)
		}
		for w.dec.More() {
			if err := w.value(depth + 1); err != nil {
				return unexpectedEOF(err)
			}
		}
		_, err := w.dec.Token()
		return unexpectedEOF(err)
	case json.Delim('{'):
		return unexpectedEOF(w.object(depth))
	}
	return fmt.Errorf("is %v, but a document must be a JSON object", token)
}

func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// object reads the rest of a JSON object whose opening brace has been read. It processes lists of documents as it goes,
// so an export may be of any size.
func (w *walker) object(depth int) error {
	rest := map[string]json.RawMessage{}
	listed := false
	for w.dec.More() {
		token, err := w.dec.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("has %v where a field name should be", token)
		}
		if slices.Contains(listFields, key) && depth < maxLists && w.isList() {
			listed = true
			if err := w.value(depth + 1); err != nil {
				return err
			}
			continue
		}
		w.in.mark = min(w.in.mark, w.dec.InputOffset())
		var raw json.RawMessage
		if err := w.dec.Decode(&raw); err != nil {
			return err
		}
		rest[key] = raw
	}
	if _, err := w.dec.Token(); err != nil {
		return err
	}
	if listed { // a datastore or the export itself, not a document
		return nil
	}
	w.n++
	d, err := w.fields.document(rest)
	if err != nil {
		name := fmt.Sprintf("document %d", w.n)
		if d != nil && d.name != "" {
			name += " (" + d.name + ")"
		}
		err, d = &errUnusable{name: name, why: err.Error()}, nil
	}
	if !w.yield(d, err) {
		return errStopped
	}
	return nil
}

// Maximum number of bytes isList reads ahead.
const maxListLookahead = 4 << 10

// isList reports whether the next value is an empty array or an array of objects. That distinguishes a list of
// documents from a document that happens to have a field named "data".
func (w *walker) isList() bool {
	ahead, err := io.ReadAll(io.LimitReader(w.dec.Buffered(), maxListLookahead))
	if err != nil {
		return false
	}
	for n := range maxListLookahead { // the decoder's buffer may be too short
		more, err := w.in.r.Peek(n)
		if is, known := startsArray(slices.Concat(ahead, more)); known || err != nil {
			return is
		}
	}
	return false
}

// startsArray reports whether text, which follows a field name, starts an array that may contain documents. `known` is
// false if there is too little text to tell.
func startsArray(text []byte) (is, known bool) {
	const space = " \t\r\n"
	text = bytes.TrimLeft(text, space+":")
	if len(text) == 0 || text[0] != '[' {
		return false, len(text) > 0
	}
	text = bytes.TrimLeft(text[1:], space)
	if len(text) == 0 {
		return false, false
	}
	return text[0] == '{' || text[0] == ']', true
}

// errorAt adds the input position to the error.
func (w *walker) errorAt(err error) error {
	var syntax *json.SyntaxError
	at := w.dec.InputOffset()
	if errors.As(err, &syntax) {
		at = syntax.Offset
		err = fmt.Errorf("invalid JSON: %w", err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends in the middle of this document: check that it was copied completely")
	}
	return fmt.Errorf("document %d, at byte %d: %w", w.n+1, at, err)
}

func (f fields) document(object map[string]json.RawMessage) (*document, error) {
	text, _ := f.first(object, f.text)
	text = strings.ReplaceAll(text, "\x00", "") // as the service does, so that the digest matches the stored text
	name, _ := f.first(object, f.name)
	id, _ := f.first(object, f.id)
	source, _ := f.first(object, f.source)
	kind := rawText(object["type"])
	d := &document{name: firstOf(name, id, source)}
	if strings.TrimSpace(text) == "" {
		if isAddress(source) && (kind == "" || kind == "web_page" || kind == "web_site") {
			return page(source, kind == "web_site", client.DatasourceConfigCreate{})
		}
		return d, fmt.Errorf("has no text (%s) and no web address (%s): use --text-field to say which field contains the text", strings.Join(f.text, ", "),
			strings.Join(f.source, ", "))
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	metadata, err := f.metadataOf(object)
	if err != nil {
		return d, err
	}
	if source != "" && metadata["source"] == nil {
		metadata["source"] = source
	}
	delete(metadata, "custom_id")
	if id == "" { // derive an id that stays the same across runs
		sum := sha256.Sum256([]byte(name + "\x00" + source + "\x00" + text))
		id = "sha256:" + hex.EncodeToString(sum[:])[:32]
	}
	key := customID(id)
	d.kind, d.key = client.DatasourceTypeText, key
	d.text = &client.Document{
		Text: text, Name: ptrOrNil(cut(name)), Metadata: &client.Document_Metadata{CustomId: &key, AdditionalProperties: metadata},
	}
	d.name = firstOf(name, key)
	sum := sha256.Sum256([]byte(text))
	d.digest = hex.EncodeToString(sum[:])
	return d, nil
}

// Maximum length of a name in characters. Matches the service's limit.
const maxName = 500

func cut(name string) string {
	if r := []rune(name); len(r) > maxName {
		return string(r[:maxName])
	}
	return name
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// first returns the first string or number among the named fields, and the name of its field.
func (f fields) first(object map[string]json.RawMessage, names []string) (text, name string) {
	for _, name := range names {
		if text := rawText(lookUp(object, name)); text != "" {
			return text, name
		}
	}
	return "", ""
}

// lookUp returns a field's value. Dots in the path separate nested field names.
func lookUp(object map[string]json.RawMessage, path string) json.RawMessage {
	if raw, ok := object[path]; ok {
		return raw
	}
	head, rest, ok := strings.Cut(path, ".")
	if !ok {
		return nil
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(object[head], &inner) != nil {
		return nil
	}
	return lookUp(inner, rest)
}

// rawText returns a JSON string or number as text, or "" for other values.
func rawText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return text
	}
	if _, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return string(raw)
	}
	return ""
}

// metadataOf returns the metadata, in the types that filters support: strings, numbers, booleans and lists.
func (f fields) metadataOf(object map[string]json.RawMessage) (map[string]any, error) {
	out := map[string]any{}
	for _, name := range f.metadata {
		raw := lookUp(object, name)
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, fmt.Errorf("%s must be a JSON object", name)
		}
		maps.Copy(out, m)
	}
	for key, v := range out {
		if v == nil {
			delete(out, key)
		}
	}
	return out, nil
}

// readAddresses reads web addresses, one per line, and yields the document that `make` returns for each. A # starts a
// comment.
func readAddresses(r io.Reader, make func(address string) (*document, error)) iter.Seq2[*document, error] {
	return func(yield func(*document, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		for n := 1; lines.Scan(); n++ {
			address, _, _ := strings.Cut(lines.Text(), " #")
			address = strings.TrimSpace(address)
			if address == "" || strings.HasPrefix(address, "#") {
				continue
			}
			var d *document
			err := fmt.Errorf("%q is not a web address", cut(address))
			if isAddress(address) {
				d, err = make(address)
			}
			if err != nil {
				d, err = nil, &errUnusable{name: fmt.Sprintf("line %d", n), why: err.Error()}
			}
			if !yield(d, err) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, fmt.Errorf("reading the list: %w", err))
		}
	}
}
