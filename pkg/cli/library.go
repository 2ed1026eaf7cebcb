package cli

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"github.com/sluice/sluice/pkg/client"
)

// document is something to bring into a datastore.
type document struct {
	name string // for people
	kind client.DatasourceType
	key  string // what tells it from all others of its kind: the custom id, or the address

	path     string                   // of a file
	digest   string                   // SHA-256 of its content; "" until it is read, and of what the service fetches
	text     *client.Document         // of a text
	create   *client.DatasourceCreate // of a web page or site
	metadata map[string]any           // of a file
	found    bool                     // in a folder, rather than named
}

// kept is a datasource as the service has it.
type kept struct {
	id, name, digest, err string
	status                client.DatasourceStatus
	chunks                int64
	metadata              map[string]any
}

// place is where a document belongs.
type place struct {
	kind client.DatasourceType
	key  string
}

// library is what a datastore holds, as far as it was brought in under keys: the memory of all runs before this one. Nothing
// is kept on this machine, so another one can go on.
type library struct {
	mu sync.Mutex
	of map[place][]kept
}

func readLibrary(ctx context.Context, c *client.Client, storeID string) (*library, error) {
	l := &library{of: map[place][]kept{}}
	for d, err := range c.ListDatasources(ctx, &client.ListDatasourcesParams{DatastoreId: &storeID}) {
		if err != nil {
			return nil, err
		}
		if at := placeOf(d); at.key != "" {
			l.of[at] = append(l.of[at], keptOf(d))
		}
	}
	return l, nil
}

func placeOf(d client.Datasource) place {
	if d.GroupId != "" { // a page of a site is the site's
		return place{}
	}
	switch d.Type {
	case client.DatasourceTypeWebPage:
		return place{d.Type, textIn(d.Config, "source_url")}
	case client.DatasourceTypeWebSite:
		return place{d.Type, siteKey(textIn(d.Config, "source_url"), textIn(d.Config, "sitemap"))}
	default:
		return place{d.Type, valueOf(d.CustomId)}
	}
}

// siteKey tells web sites from one another.
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

func keptOf(d client.Datasource) kept {
	return kept{
		id: d.Id, name: d.Name, digest: textIn(d.Config, "sha256"), err: valueOf(d.Error), status: d.Status, chunks: d.Chunks,
		metadata: d.Metadata,
	}
}

// find says what is there of a document: as it is, if anything, and other versions.
func (l *library) find(d *document) (same *kept, others []kept) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.of[place{d.kind, d.key}])
	best := -1
	for i, k := range all {
		if d.isAs(k) && (best < 0 || all[best].status == client.DatasourceStatusError) {
			best = i
		}
	}
	if best >= 0 {
		found := all[best]
		same, all = &found, slices.Delete(all, best, best+1)
	}
	return same, all
}

// isAs reports whether what is kept is the document as it is now.
func (d *document) isAs(k kept) bool {
	switch d.kind {
	case client.DatasourceTypeFile:
		return k.digest == d.digest && (d.metadata == nil || sameJSON(d.metadata, k.metadata))
	case client.DatasourceTypeText:
		return k.digest == d.digest && (d.text.Name == nil || *d.text.Name == k.name) && sameJSON(d.text.Metadata, k.metadata)
	default:
		return true
	}
}

// sameJSON reports whether two values are the same once they are written.
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

// put says that the document is there, as k. forget says that a datasource is gone.
func (l *library) put(d *document, k kept) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := place{d.kind, d.key}
	l.of[at] = append(slices.DeleteFunc(l.of[at], func(old kept) bool { return old.id == k.id }), k)
}

func (l *library) forget(d *document, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := place{d.kind, d.key}
	if l.of[at] = slices.DeleteFunc(l.of[at], func(old kept) bool { return old.id == id }); len(l.of[at]) == 0 {
		delete(l.of, at)
	}
}

// files are the keys of the files that are there.
func (l *library) files() []string {
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

// ids are those of all versions of a document.
func (l *library) ids(at place) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for _, k := range l.of[at] {
		ids = append(ids, k.id)
	}
	return ids
}
