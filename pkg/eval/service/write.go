package service

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Chunking is how large the chunks of a datastore are, in tokens. Zero values leave the choice to the service.
type Chunking struct {
	TargetTokens int `json:"targetTokens,omitempty"`
	MaxTokens    int `json:"maxTokens,omitempty"`
}

// NewDatastore describes a datastore to make. What is empty is the service's choice.
type NewDatastore struct {
	Name           string    `json:"name"`
	Type           string    `json:"type,omitempty"` // the engine
	EmbeddingModel string    `json:"embeddingModel,omitempty"`
	Chunking       *Chunking `json:"chunking,omitempty"`
}

// CreateDatastore makes a datastore.
func (s *Service) CreateDatastore(ctx context.Context, d NewDatastore) (Datastore, error) {
	var made Datastore
	err := s.do(ctx, http.MethodPost, "/datastores", d, &made)
	return made, err
}

// Document is a text to take in. One with the custom id of another replaces it.
type Document struct {
	CustomID string
	Name     string // "": the beginning of the text
	Text     string
}

// Upsert hands documents in: at most 1,000, and 10 MiB of JSON, at once. They are searchable when Settled says so.
func (s *Service) Upsert(ctx context.Context, datastoreID string, documents []Document) error {
	type item struct {
		Text     string            `json:"text"`
		Name     string            `json:"name,omitempty"`
		Metadata map[string]string `json:"metadata"`
	}
	items := make([]item, len(documents))
	for i, d := range documents {
		items[i] = item{d.Text, d.Name, map[string]string{"custom_id": d.CustomID}}
	}
	return s.do(ctx, http.MethodPost, "/datastores/upsert/"+url.PathEscape(datastoreID), map[string]any{"documents": items}, nil)
}

// settlePoll is how often Settled looks.
const settlePoll = 500 * time.Millisecond

// Settled waits until no datasource of the datastore waits or is worked on.
func (s *Service) Settled(ctx context.Context, datastoreID string) error {
	for {
		waiting := false
		// In the order in which a datasource passes through them: what moves on while this looks is seen in the next.
		for _, status := range []string{"unsynched", "pending", "running"} {
			has, err := s.hasAny(ctx, datastoreID, status)
			if err != nil {
				return err
			}
			if has {
				waiting = true
				break
			}
		}
		if !waiting {
			return nil
		}
		if err := s.wait(ctx, settlePoll); err != nil {
			return err
		}
	}
}

func (s *Service) hasAny(ctx context.Context, datastoreID, status string) (bool, error) {
	errFound := errors.New("found")
	err := s.Datasources(ctx, datastoreID, status, func(Datasource) error { return errFound })
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}
