package openai

import (
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// Kind is a kind of object in OpenAI's API. There, an object's id is its id in Sluice with Prefix prepended.
type Kind struct {
	Prefix string
	Name   string // for error messages
	// Field is the name of the parameter that contains the id. If it is set, an id without the prefix is an invalid
	// parameter, as in OpenAI's API. If it is "", such an id is treated as that of a nonexistent object.
	Field string
}

// Kinds of objects.
var (
	File        = Kind{Prefix: "file-", Name: "file"}
	Upload      = Kind{Prefix: "upload_", Name: "upload"}
	Part        = Kind{Prefix: "part_", Name: "part"}
	VectorStore = Kind{Prefix: "vs_", Name: "vector store", Field: "vector_store_id"}
	FileBatch   = Kind{Prefix: "vsfb_", Name: "file batch"}
)

// ID returns an object's id for OpenAI's clients.
func (k Kind) ID(id string) string { return k.Prefix + id }

// Parse returns an object's id in Sluice. `text` is the id with or without the prefix. For anything else, Parse returns
// domain.CodeInvalid or domain.CodeNotFound; see Field.
func (k Kind) Parse(text string) (string, error) {
	id, prefixed := strings.CutPrefix(text, k.Prefix)
	switch {
	case domain.ValidID(id):
		return id, nil
	case k.Field != "" && !prefixed:
		return "", domain.Invalid(k.Field, "is %s; it must be the id of a %s, such as %s", jsonbody.Describe(text), k.Name, k.ID("01900000-0000-7000-8000-000000000000"))
	default:
		return "", k.NotFound(text)
	}
}

// NotFound returns the error for a nonexistent object.
func (k Kind) NotFound(text string) error {
	return domain.Errorf(domain.CodeNotFound, "there is no %s with the id %s", k.Name, jsonbody.Describe(text))
}

// Length of an id without its prefix.
const idLength = len("01900000-0000-7000-8000-000000000000")

// BareID returns an id without its kind's prefix, and any other string unchanged.
func BareID(text string) string {
	if n := len(text) - idLength; n > 0 && domain.ValidID(text[n:]) {
		return text[n:]
	}
	return text
}

// Unix returns a time as OpenAI's clients see it, in whole seconds.
func Unix(t time.Time) int64 { return t.Unix() }

// OptionalUnix is like Unix, but returns nil for the zero time.
func OptionalUnix(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	seconds := t.Unix()
	return &seconds
}
