package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// check reads a request's parameters and JSON body, holds them against the document, and lets pass only what is valid.
// What passes is rewritten: empty parameters and null fields are gone, and whole numbers are written as integers, so
// that decoding into the generated types cannot fail.
func (s *server) check(c *gin.Context) {
	op := operationOf(c)
	if op == nil {
		return
	}
	query, faults := checkQuery(op, c.Request.URL.Query())
	c.Request.URL.RawQuery = query.Encode()

	if op.body == nil && op.multipart && !isMultipart(c.Request) {
		s.fail(c, domain.Invalid("Content-Type", "is %s; send the file as a part of multipart/form-data", jsonbody.Describe(c.GetHeader("Content-Type"))))
		return
	}
	if op.body != nil || op.multipart {
		if op.multipart && isMultipart(c.Request) {
			if err := encodedBody(c.Request); err != nil {
				s.fail(c, err)
				return
			}
			// The handler streams it, and the generated routing compares the header's beginning literally.
			_, params, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
			if err != nil || params["boundary"] == "" {
				s.fail(c, domain.Invalid("Content-Type", "is multipart/form-data without a boundary; let the HTTP client set the header"))
				return
			}
			c.Request.Header.Set("Content-Type", mime.FormatMediaType("multipart/form-data", params))
			limit := s.opts.MaxUploadBytes + maxParts*maxFieldBytes
			if c.Request.ContentLength > limit {
				s.fail(c, tooLargeFile(s.opts.MaxUploadBytes))
				return
			}
			body := newPacedBody(c.Writer, c.Request, limit, s.opts.ReadTimeout)
			c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), pacedKey, body))
			c.Request.Body = body
		} else {
			body, more, err := s.checkBody(c, op)
			if err != nil {
				s.fail(c, err)
				return
			}
			faults = append(faults, more...)
			c.Request.Body = body
			c.Request.Header.Set("Content-Type", "application/json")
		}
	}
	if err := invalid(faults); err != nil {
		s.fail(c, err)
	}
}

func isMultipart(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "multipart/form-data")
}

// checkedBody is a body that was found valid. The generated server takes its value instead of decoding the text again,
// because decoding would match names in any case: Query for query.
type checkedBody struct {
	io.Reader
	value any
	raw   []byte // as sent
}

// Close implements io.Closer; the request's own body has been read and is closed by the server.
func (b *checkedBody) Close() error { return nil }

// ValidatedValue returns the body as maps, slices and plain values.
func (b *checkedBody) ValidatedValue() any { return b.value }

func (s *server) checkBody(c *gin.Context, op *operation) (*checkedBody, []domain.FieldError, error) {
	raw, err := s.readBody(c, s.opts.MaxJSONBytes)
	if err != nil {
		return nil, nil, err
	}
	text := raw
	if len(bytes.TrimSpace(raw)) == 0 {
		if op.bodyRequired {
			return nil, jsonbody.Fault("is empty; send a JSON object"), nil
		}
		text = []byte("{}")
	}
	value, faults := jsonbody.Parse(text)
	if form := formFaults(text, op.multipart); len(faults) > 0 && form != nil {
		return nil, form, nil
	}
	if value == nil && len(faults) == 0 {
		faults = jsonbody.Fault("is null; send a JSON object")
	}
	if value != nil {
		faults = append(faults, op.faults(value)...)
	}
	return &checkedBody{Reader: bytes.NewReader(text), value: value, raw: raw}, faults, nil
}

// faults holds a body against the document and the operation's rule; fields that are null are gone after it.
func (op *operation) faults(value any) []domain.FieldError {
	faults := jsonbody.Check(op.body, value)
	if rule := rules[op.id]; rule != nil {
		if m, ok := value.(map[string]any); ok {
			faults = append(faults, rule(m)...)
		}
	}
	return faults
}

// readBody reads a JSON body within its limits of size and time.
func (s *server) readBody(c *gin.Context, limit int64) ([]byte, error) {
	if err := encodedBody(c.Request); err != nil {
		return nil, err
	}
	if c.Request.ContentLength > limit {
		return nil, tooLargeBody(limit)
	}
	raw, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	if err != nil {
		c.Header("Connection", "close") // or the server would wait for the rest before it answers
		return nil, s.readError(err)
	}
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{})
	return raw, nil
}

// encodedBody refuses a body that is compressed or encoded otherwise: limits bound what is sent, not what it unpacks to.
func encodedBody(r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Content-Encoding"), ","), ",") {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			return domain.Errorf(domain.CodeUnsupported, "the body has the Content-Encoding %s, which is not read; send the body unencoded, without that header", jsonbody.Describe(coding))
		}
	}
	return nil
}

// expectBody sets the time in which a request's body must arrive, and watches how far it was read. It is lifted once the body is there; when a request
// is refused before, it bounds how long the server waits for the rest.
func (s *server) expectBody(c *gin.Context) {
	if c.Request.ContentLength != 0 {
		// Where deadlines are not supported, in tests without a connection, there is nobody to be slow.
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(s.opts.ReadTimeout))
		body := &sentBody{ReadCloser: c.Request.Body}
		c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), sentKey, body))
		c.Request.Body = body
	}
}

// readError tells a client's faults in sending a body from ours.
func (s *server) readError(err error) error {
	var tooLarge *http.MaxBytesError
	var ours *domain.Error
	switch {
	case err == nil, errors.As(err, &tooLarge), errors.As(err, &ours):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &domain.Error{Code: domain.CodeInvalid, Message: fmt.Sprintf("the body did not arrive within %s", s.opts.ReadTimeout), Err: err}
	default:
		return &domain.Error{Code: domain.CodeInvalid, Message: "the body ended before it was complete", Err: err}
	}
}

// checkQuery holds the query string against the operation's parameters and returns it without empty ones, and times as
// date-times.
func checkQuery(op *operation, in url.Values) (url.Values, []domain.FieldError) {
	out := url.Values{}
	faults := strayParameters(op, in)
	for _, p := range op.query {
		values := in[p.Name]
		if len(values) > 1 {
			faults = append(faults, domain.FieldError{Field: p.Name, Message: "is given more than once; give it once"})
			continue
		}
		if len(values) == 0 || values[0] == "" {
			continue
		}
		var value any = values[0]
		switch schema := p.Schema.Value; {
		case isTime(schema):
			at, err := timeOf(p, values[0])
			if err != nil {
				faults = append(faults, timeFault(p.Name, values[0]))
				continue
			}
			out.Set(p.Name, at.Format(time.RFC3339Nano))
			continue
		case schema.Type.Is("boolean"):
			b, err := strconv.ParseBool(values[0])
			if err != nil || len(values[0]) == 1 {
				faults = append(faults, domain.FieldError{Field: p.Name, Message: fmt.Sprintf("is %q; it must be true or false", jsonbody.Shorten(values[0]))})
				continue
			}
			value, values = b, []string{strconv.FormatBool(b)}
		case schema.Type.Is("integer"):
			n, err := strconv.ParseInt(values[0], 10, 32)
			if err != nil {
				faults = append(faults, domain.FieldError{Field: p.Name, Message: fmt.Sprintf("is %q; it must be a whole number", jsonbody.Shorten(values[0]))})
				continue
			}
			value = float64(n)
		}
		if strings.ContainsRune(values[0], 0) || jsonbody.InvalidUTF8([]byte(values[0])) >= 0 {
			faults = append(faults, domain.FieldError{Field: p.Name, Message: "is not UTF-8 text without NUL characters"})
			continue
		}
		faults = append(faults, jsonbody.SchemaFaults(p.Schema.Value, p.Name, value)...)
		out[p.Name] = values
	}
	return out, append(faults, rangeFaults(in, out)...)
}

// strayParameters finds the parameters of a query string that are plainly meant for one that the operation has: a list that
// was to be narrowed must not come whole. Others are ignored; proxies and browsers add their own.
func strayParameters(op *operation, in url.Values) []domain.FieldError {
	known := make([]string, len(op.query))
	for i, p := range op.query {
		known[i] = p.Name
	}
	var faults []domain.FieldError
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if field := jsonbody.Meant(known, name); field != "" && field != name {
			faults = append(faults, domain.FieldError{Field: jsonbody.Shorten(name), Message: "is not known; did you mean " + field + "?"})
		}
	}
	return faults
}
