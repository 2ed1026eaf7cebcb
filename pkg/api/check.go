package api

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/api/document"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/domain"
)

// check validates a request's parameters and JSON body against the document and rejects invalid requests. It drops
// empty parameters and null fields and converts numbers like 1.0 to integers, so decoding into the generated types
// can't fail.
func (s *server) check(c *gin.Context) {
	op := operationOf(c)
	if op == nil {
		return
	}
	if op.Undescribed {
		if err := s.receive(c, op); err != nil {
			s.fail(c, err)
		}
		return
	}
	query, faults := op.CheckQuery(c.Request.URL.Query())
	c.Request.URL.RawQuery = query.Encode()

	if !op.TakesJSON() && op.Multipart && !transfer.IsMultipart(c.Request) {
		s.fail(c, notMultipart(c))
		return
	}
	if op.TakesJSON() || op.Multipart {
		if op.Multipart && transfer.IsMultipart(c.Request) {
			if err := s.receiveMultipart(c); err != nil {
				s.fail(c, err)
				return
			}
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
	if err := problem.Invalid(faults); err != nil {
		s.fail(c, err)
	}
}

// receive prepares the body for an operation that isn't in the OpenAPI document. It parses JSON but leaves validation
// to the handler.
func (s *server) receive(c *gin.Context, op *document.Operation) error {
	switch {
	case op.Multipart && !transfer.IsMultipart(c.Request):
		return notMultipart(c)
	case op.Multipart:
		return s.receiveMultipart(c)
	case !op.BodyRequired:
		return nil
	}
	raw, err := transfer.Read(c.Writer, c.Request, s.options.MaxJSONBytes, s.options.ReadTimeout)
	if err != nil {
		return err
	}
	text := raw
	if len(bytes.TrimSpace(raw)) == 0 {
		text = []byte("{}")
	}
	value, faults := jsonbody.Parse(text)
	c.Request.Body = &transfer.Checked{Reader: bytes.NewReader(text), Value: value, Raw: raw}
	return problem.Invalid(faults)
}

func notMultipart(c *gin.Context) error {
	return domain.Invalid("Content-Type", "is %s; send the file as multipart/form-data", jsonbody.Describe(c.GetHeader("Content-Type")))
}

// receiveMultipart limits the form's size. The handler streams the content and checks it.
func (s *server) receiveMultipart(c *gin.Context) (err error) {
	c.Request, err = s.uploads.Accept(c.Writer, c.Request)
	return err
}

func (s *server) checkBody(c *gin.Context, op *document.Operation) (*transfer.Checked, []domain.FieldError, error) {
	raw, err := transfer.Read(c.Writer, c.Request, s.options.MaxJSONBytes, s.options.ReadTimeout)
	if err != nil {
		return nil, nil, err
	}
	text := raw
	if len(bytes.TrimSpace(raw)) == 0 {
		if op.BodyRequired {
			return nil, jsonbody.Fault("is empty; send a JSON object"), nil
		}
		text = []byte("{}")
	}
	value, faults := jsonbody.Parse(text)
	if form := jsonbody.FormFaults(text, op.Multipart); len(faults) > 0 && form != nil {
		return nil, form, nil
	}
	if value == nil && len(faults) == 0 {
		faults = jsonbody.Fault("is null; send a JSON object")
	}
	var items []jsonbody.Item
	if value != nil {
		faults, items = op.CheckBatch(value, faults)
	}
	return &transfer.Checked{Reader: bytes.NewReader(text), Value: value, Raw: raw, Items: items}, faults, nil
}

// lengthFault says why a query is too long, or returns "". Searching normalises the query, which can make it many times
// longer, so the limit applies to the query both before and after normalisation.
func (s *server) lengthFault(query string) string {
	limit := s.options.MaxQueryChars
	if n := utf8.RuneCountInString(query); n > limit {
		return fmt.Sprintf("has %d characters; the limit is %d", n, limit)
	}
	if analysis.NormalLength(query, limit) > limit {
		return fmt.Sprintf("has more than %d characters (SLUICE_LIMIT_QUERY) after Unicode normalisation (NFKC), which turns some characters into several; shorten it", limit)
	}
	return ""
}

// checkLength rejects a query that is too long after normalisation. The schema has already checked the original length.
func (s *server) checkLength(field, query string) error {
	if fault := s.lengthFault(query); fault != "" {
		return domain.Invalid(field, "%s", fault)
	}
	return nil
}
