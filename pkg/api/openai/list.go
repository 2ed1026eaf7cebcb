package openai

import (
	"net/url"
	"strconv"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
)

// Page says which page of a list a client requests. The page begins after the object with the id After or ends before
// the object with the id Before; either may be "".
type Page struct {
	Limit     int
	Ascending bool // oldest first
	After     string
	Before    string
}

// Page limits for most lists.
const (
	DefaultLimit = 20
	MaxLimit     = 100
)

// ReadPage reads the parameters limit, order, after and before.
func ReadPage(query url.Values, defaultLimit, maxLimit int) (Page, error) {
	p := Page{Limit: defaultLimit, After: query.Get("after"), Before: query.Get("before")}
	var faults []domain.FieldError
	fault := func(field, message string) {
		faults = append(faults, domain.FieldError{Field: field, Message: message})
	}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLimit {
			fault("limit", "is "+jsonbody.Describe(text)+"; it must be a whole number between 1 and "+strconv.Itoa(maxLimit))
		}
		p.Limit = n
	}
	switch text := query.Get("order"); text {
	case "", "desc":
	case "asc":
		p.Ascending = true
	default:
		fault("order", "is "+jsonbody.Describe(text)+"; it must be asc or desc")
	}
	if p.After != "" && p.Before != "" {
		fault("before", "cannot be combined with after; send only one of them")
	}
	return p, problem.Invalid(faults)
}

// List is a page from a list as OpenAI's clients see it.
type List[T any] struct {
	Object  string  `json:"object"` // always "list"
	Data    []T     `json:"data"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// NewList returns a page with these objects. `id` returns an object's id as clients see it.
func NewList[T any](data []T, more bool, id func(T) string) List[T] {
	l := List[T]{Object: "list", Data: data, HasMore: more}
	if len(data) == 0 {
		l.Data = []T{}
		return l
	}
	first, last := id(data[0]), id(data[len(data)-1])
	l.FirstID, l.LastID = &first, &last
	return l
}
