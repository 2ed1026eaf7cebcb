package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
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

// DeleteDatastore deletes a datastore with all its content.
func (s *Service) DeleteDatastore(ctx context.Context, id string) error {
	return s.do(ctx, http.MethodDelete, "/datastores/"+url.PathEscape(id), nil, nil)
}

// Upload hands a file in and returns its datasource. It is searchable when its status is synched.
func (s *Service) Upload(ctx context.Context, datastoreID, name string, content []byte) (Datasource, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	err := form.WriteField("datastoreId", datastoreID)
	if err == nil {
		var part io.Writer
		if part, err = form.CreateFormFile("file", name); err == nil {
			_, err = part.Write(content)
		}
	}
	if err := errors.Join(err, form.Close()); err != nil {
		return Datasource{}, fmt.Errorf("writing the upload of %q: %w", name, err)
	}
	resp, _, err := s.send(ctx, s.client, http.MethodPost, "/datasources", form.FormDataContentType(), body.Bytes())
	if err != nil {
		return Datasource{}, err
	}
	defer resp.Body.Close()
	var made Datasource
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&made); err != nil {
		return Datasource{}, fmt.Errorf("reading the service's answer to the upload of %q: %w", name, err)
	}
	return made, nil
}

// Document is a text to take in. One with the custom id of another replaces it.
type Document struct {
	CustomID string
	Name     string // "": the beginning of the text
	Text     string
}

// Upsert hands documents in, at most 1,000, and 10 MiB of JSON, at once, and returns the ids of their datasources, in
// order. They are searchable when their status is synched; Settled waits for all.
func (s *Service) Upsert(ctx context.Context, datastoreID string, documents []Document) (ids []string, err error) {
	type item struct {
		Text     string            `json:"text"`
		Name     string            `json:"name,omitempty"`
		Metadata map[string]string `json:"metadata"`
	}
	items := make([]item, len(documents))
	for i, d := range documents {
		items[i] = item{d.Text, d.Name, map[string]string{"custom_id": d.CustomID}}
	}
	var made struct {
		IDs []string `json:"ids"`
	}
	err = s.do(ctx, http.MethodPost, "/datastores/upsert/"+url.PathEscape(datastoreID), map[string]any{"documents": items}, &made)
	return made.IDs, err
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
