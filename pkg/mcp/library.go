package mcp

import (
	"context"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
)

// Limits on the tools' arguments.
const (
	MaxDatastores   = 64  // maximum number of datastores in one search
	DefaultResults  = 10  // number of results if the arguments do not specify it
	MaxResults      = 100 // maximum number of results
	MaxFilterValues = 1000
	MaxMetadataKeys = 20 // maximum number of keys in a filter
)

// Library provides the content that a caller may see. The context of a call identifies the caller. Errors are shown to
// the caller.
type Library interface {
	// Search returns at most Results fragments, best first.
	Search(ctx context.Context, q Search) ([]domain.Fragment, error)
	// Datasource returns a datasource. It fails with domain.CodeNotFound if there is none.
	Datasource(ctx context.Context, id string) (domain.Datasource, error)
	// Datasources returns a page of datasources, newest first, and the cursor of the next page. After the last page,
	// the cursor is "".
	Datasources(ctx context.Context, cursor string, limit int) ([]domain.Datasource, string, error)
	// Chunks returns up to `limit` searchable chunks of the datasource, starting at the ordinal `from`.
	Chunks(ctx context.Context, d domain.Datasource, from, limit int) ([]domain.Chunk, error)
	// Ask asks an agent. It passes the answer's text to `emit` as it arrives, unless `emit` is nil.
	Ask(ctx context.Context, q Question, emit func(text string) error) (Answer, error)
	// Agents returns up to `limit` agents that the caller can ask, newest first.
	Agents(ctx context.Context, limit int) ([]domain.Agent, error)
}

// Search holds the parameters of a search for fragments.
type Search struct {
	Query      string
	Datastores []string // ids; empty: all datastores of the workspace
	Results    int      // 1 to MaxResults
	Filters    domain.Filters
	Where      *filter.Filter      // in addition to Filters; nil matches everything
	Faults     []domain.FieldError // faults in the arguments for Where
}

// Question is a question to an agent.
type Question struct {
	AgentID        string
	Text           string
	ConversationID string // "": a new conversation
	Rectangles     bool   // locate the spans of Answer.Sentences on the pages of PDFs
}

// Answer is an agent's answer to a Question.
type Answer struct {
	Text           string
	ConversationID string
	Sources        []domain.Fragment // with their citation numbers
	Sentences      []domain.AnswerSentence
}
