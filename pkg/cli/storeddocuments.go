package cli

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/sluice/sluice/pkg/client"
)

// document is a document to add to a datastore.
type document struct {
	name string // for messages
	kind client.DatasourceType
	key  string // custom id or address, unique within the kind

	path     string                   // for files
	digest   string                   // SHA-256 of the content; "" if the content was not read yet or is fetched by the service
	text     *client.Document         // for texts
	create   *client.DatasourceCreate // request that creates a web page or site
	metadata map[string]any           // for files
	found    bool                     // found in a folder, not named as an argument

	// fetch gets the content, for example from another service, and fills in the fields above. It is nil if they are
	// already filled in.
	fetch func(ctx context.Context) error
	// drop deletes files created by fetch. It may be nil.
	drop func()
}

// storedDocument is one of the service's datasources.
type storedDocument struct {
	id, name, digest, err string
	status                client.DatasourceStatus
	archive               bool // whether the file is an archive
	chunks                int64
	metadata              map[string]any
}

type documentKey struct {
	kind client.DatasourceType
	key  string
}

// storedDocuments holds the datastore's datasources that can be recognised by a custom id or address. They are read
// from the service, not from local storage, so an upload can be continued on another machine.
type storedDocuments struct {
	mu sync.Mutex
	of map[documentKey][]storedDocument
}

func readStoredDocuments(ctx context.Context, c *client.Client, storeID string) (*storedDocuments, error) {
	l := &storedDocuments{of: map[documentKey][]storedDocument{}}
	for d, err := range c.ListDatasources(ctx, &client.ListDatasourcesParams{DatastoreId: &storeID}) {
		if err != nil {
			return nil, err
		}
		if at := documentKeyOf(d); at.key != "" {
			l.of[at] = append(l.of[at], storedDocumentOf(d))
		}
	}
	return l, nil
}

func documentKeyOf(d client.Datasource) documentKey {
	if d.GroupId != "" { // pages belong to their site, and files to their archive
		return documentKey{}
	}
	switch d.Type {
	case client.DatasourceTypeArchive:
		return documentKey{client.DatasourceTypeFile, valueOf(d.CustomId)}
	case client.DatasourceTypeWebPage:
		return documentKey{d.Type, textIn(d.Config, "source_url")}
	case client.DatasourceTypeWebSite:
		return documentKey{d.Type, siteKey(textIn(d.Config, "source_url"), textIn(d.Config, "sitemap"))}
	default:
		return documentKey{d.Type, valueOf(d.CustomId)}
	}
}

func siteKey(root, sitemap string) string {
	if root == "" && sitemap == "" {
		return ""
	}
	return root + " " + sitemap
}

func textIn(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func storedDocumentOf(d client.Datasource) storedDocument {
	return storedDocument{
		id: d.Id, name: d.Name, digest: textIn(d.Config, "sha256"), err: valueOf(d.Error), status: d.Status, chunks: d.Chunks,
		metadata: d.Metadata, archive: d.Type == client.DatasourceTypeArchive,
	}
}

// find returns the stored version that equals the document, if any, and the other stored versions.
func (l *storedDocuments) find(d *document) (same *storedDocument, others []storedDocument) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.of[documentKey{d.kind, d.key}])
	best := -1
	for i, k := range all {
		if d.equals(k) && (best < 0 || all[best].status == client.DatasourceStatusError) {
			best = i
		}
	}
	if best >= 0 {
		found := all[best]
		same, all = &found, slices.Delete(all, best, best+1)
	}
	return same, all
}

// equals reports whether stored document k has the same content and metadata as d, so d doesn't have to be sent again.
func (d *document) equals(k storedDocument) bool {
	switch d.kind {
	case client.DatasourceTypeFile:
		return k.digest == d.digest && (d.metadata == nil || sameJSON(d.metadata, k.metadata))
	case client.DatasourceTypeText:
		return k.digest == d.digest && (d.text.Name == nil || *d.text.Name == k.name) && sameJSON(d.text.Metadata, k.metadata)
	default:
		return true
	}
}

func sameJSON(a, b any) bool {
	var plain [2]any
	for i, v := range []any{a, b} {
		text, err := json.Marshal(v)
		if err != nil || json.Unmarshal(text, &plain[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(plain[0], plain[1])
}

// latest returns the newest stored version of a document, or nil.
func (l *storedDocuments) latest(at documentKey) *storedDocument {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.of[at]
	if len(all) == 0 {
		return nil
	}
	found := slices.MaxFunc(all, func(a, b storedDocument) int { return strings.Compare(a.id, b.id) }) // ids begin with the time
	return &found
}

func (l *storedDocuments) put(d *document, k storedDocument) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := documentKey{d.kind, d.key}
	l.of[at] = append(slices.DeleteFunc(l.of[at], func(old storedDocument) bool { return old.id == k.id }), k)
}

func (l *storedDocuments) remove(d *document, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := documentKey{d.kind, d.key}
	if l.of[at] = slices.DeleteFunc(l.of[at], func(old storedDocument) bool { return old.id == id }); len(l.of[at]) == 0 {
		delete(l.of, at)
	}
}

// files returns the stored files' keys.
func (l *storedDocuments) files() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []string
	for at := range l.of {
		if at.kind == client.DatasourceTypeFile {
			keys = append(keys, at.key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (l *storedDocuments) ids(at documentKey) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for _, k := range l.of[at] {
		ids = append(ids, k.id)
	}
	return ids
}
