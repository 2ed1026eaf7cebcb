package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/lists"
)

// uploadResult is the result of sending a document.
type uploadResult struct {
	doc       *document
	stored    storedDocument
	processed bool // the document was sent or is being processed again
	known     bool // the datasource existed before, so events may concern its old version
	finished  bool // there is nothing to wait for
	others    []storedDocument
	warnings  []client.FieldError // changes that the service made to the document
	err       error
}

// send sends a unit's documents, except those already stored. If a single document fails, that is part of its result;
// an error from send ends the run. `salt` makes the idempotency keys differ from those of earlier requests.
func (s *upload) send(ctx context.Context, unit []*document, salt string) ([]uploadResult, error) {
	var batch []uploadResult
	var texts []*document
	for _, d := range unit {
		if err := d.read(ctx); err != nil {
			batch = append(batch, uploadResult{doc: d, err: err})
			continue
		}
		same, others := s.stored.find(d)
		switch {
		case same != nil && same.status == client.DatasourceStatusError, same != nil && s.retry && d.create != nil:
			batch = append(batch, s.resend(ctx, d, *same, others))
		case same != nil:
			batch = append(batch, uploadResult{doc: d, stored: *same, others: others, known: true, finished: isFinal(same.status)})
		case d.kind == client.DatasourceTypeText:
			texts = append(texts, d)
		case d.replaces(others) != nil:
			batch = append(batch, s.replace(ctx, d, *d.replaces(others), others))
		default:
			made, err := s.create(ctx, d, others, salt)
			r := uploadResult{doc: d, processed: true, others: others, err: err}
			if made != nil {
				r.stored = storedDocumentOf(*made)
			}
			batch = append(batch, r)
		}
		if n := len(batch); n > 0 && isFatal(batch[n-1].err) {
			return batch, batch[n-1].err
		}
	}
	upserted, err := s.upsert(ctx, texts)
	return append(batch, upserted...), err
}

func isFinal(status client.DatasourceStatus) bool {
	return status == client.DatasourceStatusSynched || status == client.DatasourceStatusError || status == client.DatasourceStatusSkipped
}

// isFatal reports whether err ends the whole run, because it concerns the service or the key rather than one document.
func isFatal(err error) bool {
	if err == nil {
		return false
	}
	if refused, ok := errors.AsType[*client.Error](err); ok {
		switch refused.Status {
		case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
			return false
		default:
			return true
		}
	}
	var local *os.PathError
	var unusable *errUnusable
	return !errors.As(err, &local) && !errors.As(err, &unusable)
}

// resend queues another attempt to process a failed datasource.
func (s *upload) resend(ctx context.Context, d *document, k storedDocument, others []storedDocument) uploadResult {
	mode := client.ResyncModeReindex
	if d.create != nil {
		mode = client.ResyncModeRefresh
	}
	_, err := s.client.ResyncDatasource(ctx, k.id, mode)
	return uploadResult{doc: d, stored: k, processed: true, known: true, others: others, err: err}
}

// replaces returns the stored archive that the document is a new version of, or nil if there is none. An archive's
// metadata can't be changed, so an archive with different metadata becomes a new datasource.
func (d *document) replaces(others []storedDocument) *storedDocument {
	for _, k := range others {
		if k.archive && d.path != "" && (d.metadata == nil || sameJSON(d.metadata, k.metadata)) {
			return &k
		}
	}
	return nil
}

// replace sends a new version of a stored archive, so that only changed files are read again.
func (s *upload) replace(ctx context.Context, d *document, k storedDocument, others []storedDocument) uploadResult {
	others = slices.DeleteFunc(slices.Clone(others), func(other storedDocument) bool { return other.id == k.id })
	f, err := os.Open(d.path)
	if err != nil {
		return uploadResult{doc: d, err: err}
	}
	defer f.Close()
	replaced, err := s.client.ReplaceOriginal(ctx, k.id, client.File{Name: filepath.Base(d.path), Content: f})
	r := uploadResult{doc: d, processed: true, known: true, others: others, err: err}
	if replaced != nil {
		r.stored = storedDocumentOf(*replaced)
	}
	return r
}

// create uploads a file or adds a page or site. If the run is killed before it receives the response, the next run
// sends the same idempotency key, so the document isn't created twice. As long as the document is unchanged, the key
// changes only if the document's other versions in the datastore do.
func (s *upload) create(ctx context.Context, d *document, others []storedDocument, salt string) (*client.Datasource, error) {
	ids := lists.Map(others, func(k storedDocument) string { return k.id })
	slices.Sort(ids)
	ctx = client.WithIdempotencyKey(ctx, digestOf("create", s.storeID, string(d.kind), d.key, d.digest, d.metadata, d.create, ids, salt))
	if d.create != nil {
		create := *d.create
		create.DatastoreId = s.storeID
		return s.client.CreateDatasource(ctx, create)
	}
	f, err := os.Open(d.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return s.client.Upload(ctx, s.storeID, client.File{Name: filepath.Base(d.path), Content: f, CustomID: d.key, Metadata: d.metadata})
}

// digestOf hashes the parts' JSON encoding.
func digestOf(parts ...any) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(parts) // cannot fail: all parts come from JSON or are strings
	return hex.EncodeToString(h.Sum(nil))
}

// upsert uploads several texts in one request, in which the service rejects invalid texts individually. If the whole
// request is rejected, upsert uploads the texts one by one: together they may be too large, or an older version of the
// service may have rejected all of them because of one.
func (s *upload) upsert(ctx context.Context, docs []*document) ([]uploadResult, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	texts := lists.Map(docs, func(d *document) client.Document { return *d.text })
	upserted, err := s.client.UpsertEach(ctx, s.storeID, texts...)
	var batch []uploadResult
	switch {
	case err == nil && len(upserted.Ids) != len(docs):
		return nil, fmt.Errorf("the service returned %d ids for %d documents", len(upserted.Ids), len(docs))
	case err == nil:
		for i, d := range docs {
			var result client.DocumentResult // older services return none and store either all documents or none
			if i < len(upserted.Results) {
				result = upserted.Results[i]
			}
			if result.Status == client.DocumentResultStatusRejected {
				faults := valueOf(result.Errors)
				batch = append(batch, uploadResult{doc: d, err: &client.Error{
					Status: http.StatusBadRequest, Code: client.CodeInvalid, Message: listed(faults), Fields: faults,
				}})
				continue
			}
			id := upserted.Ids[i]
			_, others := s.stored.find(d)
			known := slices.ContainsFunc(others, func(k storedDocument) bool { return k.id == id })
			others = slices.DeleteFunc(others, func(k storedDocument) bool { return k.id == id })
			batch = append(batch, uploadResult{
				doc: d, processed: true, known: known, others: others, warnings: valueOf(result.Warnings), stored: storedDocument{
					id: id, name: valueOf(d.text.Name), digest: d.digest, status: client.DatasourceStatusUnsynched, metadata: d.allMetadata(),
				},
			})
		}
	case isFatal(err):
		return nil, err
	case len(docs) == 1:
		batch = append(batch, uploadResult{doc: docs[0], err: err})
	default:
		for _, d := range docs {
			one, err := s.upsert(ctx, []*document{d})
			if batch = append(batch, one...); err != nil {
				return batch, err
			}
		}
	}
	return batch, nil
}

// listed joins a document's errors or warnings into one string.
func listed(fields []client.FieldError) string {
	return strings.Join(lists.Map(fields, func(f client.FieldError) string { return f.Field + ": " + f.Message }), "; ")
}

func (d *document) allMetadata() map[string]any {
	all := map[string]any{}
	if text, err := json.Marshal(d.text.Metadata); err == nil {
		_ = json.Unmarshal(text, &all) // cannot fail: the text was encoded above
	}
	return all
}

// read fetches the document if necessary and hashes its content.
func (d *document) read(ctx context.Context) error {
	if d.fetch != nil {
		if err := d.fetch(ctx); err != nil {
			return err
		}
	}
	if d.path == "" || d.digest != "" {
		return nil
	}
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	d.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}
