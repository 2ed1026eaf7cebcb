// Package jsonbody parses JSON request bodies strictly and describes each deviation from the OpenAPI document in a
// readable message. It doesn't depend on operations or HTTP; pkg/api and the packages below it may import it.
package jsonbody

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/domain"
)

// Maximum nesting depth in a JSON body. Real bodies have at most ten levels.
const maxDepth = 64

// Parse parses one JSON value into maps, slices, strings, float64s, bools and nils. It is stricter than encoding/json.
// Invalid UTF-8, duplicate keys, NUL characters, numbers that overflow float64 and nesting beyond maxDepth are faults,
// because parsers disagree about them. A byte order mark is skipped.
func Parse(raw []byte) (any, []domain.FieldError) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	invalid := InvalidUTF8(raw)
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(raw, new(json.RawMessage)); {
	case err == nil:
	case invalid >= 0: // a body in another encoding is rarely valid JSON
		return nil, Fault("is not valid UTF-8 at %s; encode it as UTF-8", position(raw, invalid))
	case errors.As(err, &syntax):
		return nil, Fault("is not valid JSON at %s: %s", position(raw, int(syntax.Offset)-1), strings.TrimPrefix(syntax.Error(), "json: "))
	default:
		return nil, Fault("is not valid JSON")
	}
	p := parser{dec: json.NewDecoder(bytes.NewReader(raw))}
	p.dec.UseNumber()
	if invalid >= 0 {
		p.raw = raw
	}
	v, err := p.value("", 1)
	if err != nil {
		return nil, Fault("is not valid JSON")
	}
	return v, p.faults
}

// Fault returns a single fault for the whole body.
func Fault(format string, args ...any) []domain.FieldError {
	return []domain.FieldError{{Field: "body", Message: fmt.Sprintf(format, args...)}}
}

// nulFault is the message for a string containing NUL characters.
const nulFault = `contains a NUL character (\u0000); remove it`

type parser struct {
	dec    *json.Decoder
	raw    []byte // the text, if it is not UTF-8; otherwise nil
	at     int64  // end of the last token, if raw is set
	faults []domain.FieldError
}

func (p *parser) fault(path, format string, args ...any) {
	p.faults = append(p.faults, domain.FieldError{Field: FieldName(path), Message: fmt.Sprintf(format, args...)})
}

// value reads the next value. The text has been validated, so there are no syntax errors.
func (p *parser) value(path string, depth int) (any, error) {
	token, err := p.token(path)
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if depth > maxDepth {
			p.fault(Shorten(path), "is nested deeper than %d levels; flatten it", maxDepth)
			return nil, p.skip(path)
		}
		if t == '{' {
			return p.object(path, depth)
		}
		return p.array(path, depth)
	case json.Number:
		f, err := t.Float64()
		if err != nil {
			p.fault(path, "is %s, which is too large for a 64-bit floating-point number", Shorten(t.String()))
		}
		return f, nil
	case string:
		if strings.ContainsRune(t, 0) {
			p.fault(path, nulFault)
		}
		return t, nil
	default:
		return t, nil
	}
}

// token returns the next token. `path` is the value's path, named in the fault if the token isn't valid UTF-8.
func (p *parser) token(path string) (json.Token, error) {
	token, err := p.dec.Token()
	if p.raw != nil {
		end := p.dec.InputOffset()
		if InvalidUTF8(p.raw[p.at:end]) >= 0 {
			p.fault(path, "is not valid UTF-8; encode it as UTF-8")
		}
		p.at = end
	}
	return token, err
}

// skip reads to the end of the object or array at path, whose opening bracket has already been read.
func (p *parser) skip(path string) error {
	for open := 1; open > 0; {
		token, err := p.token(path)
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			open++
		case json.Delim('}'), json.Delim(']'):
			open--
		}
	}
	return nil
}

func (p *parser) object(path string, depth int) (any, error) {
	m := map[string]any{}
	for p.dec.More() {
		token, err := p.token(path)
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		at := Join(path, key)
		if strings.ContainsRune(key, 0) {
			p.fault(path, `has a key with a NUL character (\u0000); remove it`)
		}
		if _, twice := m[key]; twice {
			p.fault(at, "appears twice in the same object; send it only once")
		}
		if m[key], err = p.value(at, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := p.token(path)
	return m, err
}

func (p *parser) array(path string, depth int) (any, error) {
	list := []any{}
	for p.dec.More() {
		v, err := p.value(path+"["+strconv.Itoa(len(list))+"]", depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := p.token(path)
	return list, err
}

// Join appends a key to a field's path: documents[3] and text become documents[3].text.
func Join(path, key string) string {
	if path == "" {
		return Shorten(key)
	}
	return path + "." + Shorten(key)
}

// FieldName returns a path as shown in error messages. The empty path means the body itself.
func FieldName(path string) string {
	if path == "" {
		return "body"
	}
	return path
}

// Shorten shortens a caller's value for an error message.
func Shorten(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	return bounded.Prefix(s, limit) + "…"
}

// InvalidUTF8 returns the offset of the first invalid byte, or -1 if there is none.
func InvalidUTF8(b []byte) int {
	for at := 0; at < len(b); {
		if b[at] < utf8.RuneSelf {
			at++
			continue
		}
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// position returns the 1-based line and column of an offset.
func position(b []byte, offset int) string {
	offset = max(0, min(offset, len(b)))
	before := b[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}
