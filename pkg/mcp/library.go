package mcp

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
)

// Limits on the tools' arguments.
const (
	MaxDatastores   = 64  // maximum number of datastores in one search
	DefaultResults  = 10  // number of results if the arguments do not specify one
	MaxResults      = 100 // maximum number of results
	MaxFilterValues = 1000
	MaxMetadataKeys = 20 // maximum number of keys in a filter
)

// Library provides the content that the caller may see. Each method's context identifies the caller, who sees any
// errors that the methods return.
type Library interface {
	// Search returns at most q.Results fragments, best first.
	Search(ctx context.Context, q Search) ([]domain.Fragment, error)
	// Datasource returns a datasource. It fails with domain.CodeNotFound if there is none.
	Datasource(ctx context.Context, id string) (domain.Datasource, error)
	// Datasources returns a page of datasources, newest first, and the cursor for the next page, or "" after the last
	// page.
	Datasources(ctx context.Context, cursor string, limit int) ([]domain.Datasource, string, error)
	// Chunks returns up to `limit` of the datasource's searchable chunks, starting at ordinal `from`.
	Chunks(ctx context.Context, d domain.Datasource, from, limit int) ([]domain.Chunk, error)
	// Ask asks an agent. If `emit` is not nil, Ask calls it with each piece of the answer's text as it arrives.
	Ask(ctx context.Context, q Question, emit func(text string) error) (Answer, error)
	// Agents returns up to `limit` agents the caller can ask, newest first.
	Agents(ctx context.Context, limit int) ([]domain.Agent, error)
}

// Search holds the parameters for a search.
type Search struct {
	Query      string
	Datastores []string // ids; empty: all of the workspace's datastores
	Results    int      // 1 to MaxResults
	Filters    domain.Filters
	Where      *filter.Filter      // in addition to Filters; nil matches everything
	Faults     []domain.FieldError // errors in the arguments for Where
}

// Question is a question for an agent.
type Question struct {
	AgentID        string
	Text           string
	ConversationID string // "": a new conversation
	Rectangles     bool   // locate the spans of Answer.Sentences on PDF pages
}

// Answer is an agent's answer to a Question.
type Answer struct {
	Text           string
	ConversationID string
	Sources        []domain.Fragment // including their citation numbers
	Sentences      []domain.AnswerSentence
}
