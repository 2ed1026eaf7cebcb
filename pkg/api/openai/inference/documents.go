package inference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/rerank"
)

// documents are the documents to rank: strings, or objects with text.
type documents []document

// document is one document, either a string or an object.
type document struct {
	text   string
	fields map[string]any // nil if the document is a string
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *documents) UnmarshalJSON(raw []byte) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	list, isList := value.([]any)
	switch {
	case !isList:
		return domain.Invalid("documents", "is %s; it must be an array", jsonbody.Describe(value))
	case len(list) > rerank.MaxPassages:
		return domain.Invalid("documents", "has %d items; the limit is %d", len(list), rerank.MaxPassages)
	}
	*d = make(documents, len(list))
	for i, item := range list {
		switch item := item.(type) {
		case string:
			(*d)[i] = document{text: item}
		case map[string]any:
			(*d)[i] = document{fields: item}
		default:
			return domain.Invalid(fmt.Sprintf("documents[%d]", i), "is %s; it must be a string or an object with text", jsonbody.Describe(item))
		}
	}
	return nil
}

// texts returns each document's text. For an object, that is the values of `fields`. If there are several, each goes on
// its own line, prefixed with the field's name, as Cohere's models expect.
func (d documents) texts(fields []string) ([]string, error) {
	if len(fields) == 0 {
		fields = []string{"text"}
	}
	texts := make([]string, len(d))
	for i, doc := range d {
		if doc.fields == nil {
			texts[i] = doc.text
			continue
		}
		var lines []string
		for _, name := range fields {
			switch value := doc.fields[name].(type) {
			case nil:
			case string:
				if len(fields) > 1 {
					value = name + ": " + value
				}
				lines = append(lines, value)
			default:
				return nil, domain.Invalid(jsonbody.Join(fmt.Sprintf("documents[%d]", i), name), "is %s; it must be a string", jsonbody.Describe(value))
			}
		}
		if len(lines) == 0 {
			return nil, domain.Invalid(fmt.Sprintf("documents[%d]", i), "has none of the fields %s; only documents with text can be ranked",
				strings.Join(lists.Map(fields[:min(len(fields), 10)], jsonbody.Shorten), ", "))
		}
		texts[i] = strings.Join(lines, "\n")
	}
	return texts, nil
}

// echo returns the document for the response: the object sent by the client, or an object with the text.
func (d document) echo() any {
	if d.fields == nil {
		return map[string]any{"text": d.text}
	}
	return d.fields
}

// blank returns the index of the first text that is empty or consists only of white space, or -1 if there is none.
func blank(texts []string) int {
	return slices.IndexFunc(texts, func(text string) bool { return strings.TrimSpace(text) == "" })
}
