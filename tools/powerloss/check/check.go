// Package check finds documents that a service lost, duplicated or brought back in a power loss.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/tools/powerloss/load"
)

const (
	settleTimeout = 2 * time.Minute // for everything accepted before the power loss to become searchable
	readers       = 4               // concurrent reads
	queries       = 20              // number of searches for documents of each kind
	fragments     = 5               // fragments per query
)

// Report is the result of a check.
type Report struct {
	Documents int      // with at least one change acknowledged before the power loss
	Lost      int      // of these, how many are in a forbidden state
	Findings  []string // one line each
}

// report collects findings from several goroutines.
type report struct {
	mu   sync.Mutex
	gone map[string]bool // custom ids of lost documents
	Report
}

func (r *report) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}

// lost adds a finding about a document.
func (r *report) lost(d load.Expectation, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone[d.CustomID] = true
	r.Lost = len(r.gone)
	want := d.Acknowledged.String()
	if d.Sent != nil {
		want += " or " + d.Sent.String()
	}
	r.Findings = append(r.Findings, fmt.Sprintf("%s (%s): %s", d.CustomID, want, fmt.Sprintf(format, args...)))
}

// Documents checks every document. A document must exist exactly once, with the original and the chunks of its last
// acknowledged version or of a change that was sent but not acknowledged. Deleted documents must be gone, and there
// must be no content that nobody wrote. Searches must find only existing versions. The error is nil unless ctx is done.
func Documents(ctx context.Context, c *client.Client, e load.Expected, random *rand.Rand) (Report, error) {
	r := &report{gone: map[string]bool{}, Report: Report{Documents: e.Acknowledged()}}
	if e.Datastore == "" {
		return r.Report, nil
	}
	k := &checker{client: c, expected: e, report: r, random: random, versions: map[load.Name]int{}}
	if err := k.run(ctx); err != nil {
		if ctx.Err() != nil {
			return r.Report, ctx.Err()
		}
		r.add("%v", err)
	}
	slices.Sort(r.Findings) // same order in every run
	return r.Report, nil
}

type checker struct {
	*report
	client   *client.Client
	expected load.Expected
	random   *rand.Rand

	mu       sync.Mutex
	versions map[load.Name]int // versions of documents in an allowed state
}

func (k *checker) run(ctx context.Context) error {
	if _, err := k.client.GetDatastore(ctx, k.expected.Datastore); client.CodeOf(err) == client.CodeNotFound {
		k.Lost = k.Documents
		return errors.New("the datastore is lost, with all documents")
	} else if err != nil {
		return fmt.Errorf("reading the datastore: %w", err)
	}
	settling, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := k.client.Settled(settling, k.expected.Datastore, nil); err != nil {
		return fmt.Errorf("not everything is indexed %v after the start: %w", settleTimeout, err)
	}
	found := map[string][]client.Datasource{}
	for d, err := range k.client.ListDatasources(ctx, &client.ListDatasourcesParams{DatastoreId: &k.expected.Datastore}) {
		if err != nil {
			return fmt.Errorf("listing datasources: %w", err)
		}
		id := ""
		if d.CustomId != nil {
			id = *d.CustomId
		}
		found[id] = append(found[id], d)
	}
	var reading errgroup.Group
	reading.SetLimit(readers)
	for _, d := range k.expected.Documents {
		here := found[d.CustomID]
		delete(found, d.CustomID)
		reading.Go(func() error { return k.document(ctx, d, here) })
	}
	if err := reading.Wait(); err != nil {
		return err
	}
	for id, unknown := range found {
		k.add("%d datasources with custom_id %q exist, but no request created them", len(unknown), id)
	}
	return k.search(ctx)
}

// document checks one document. `found` holds the datasources that have the document's custom_id.
func (k *checker) document(ctx context.Context, d load.Expectation, found []client.Datasource) error {
	switch {
	case len(found) > 1:
		k.lost(d, "exists %d times", len(found))
		return nil
	case len(found) == 0 && d.MayBeAbsent():
		return nil
	case len(found) == 0:
		k.lost(d, "does not exist")
		return nil
	case !d.MayExist():
		k.lost(d, "exists")
		return nil
	}
	source := found[0]
	if source.Status != client.DatasourceStatusSynched {
		reason := ""
		if source.Error != nil {
			reason = *source.Error
		}
		k.lost(d, "has status %s: %s", source.Status, reason)
		return nil
	}
	original, err := k.original(ctx, source.Id)
	if err != nil {
		return k.unreadable(ctx, d, "original", err)
	}
	version := 0
	for _, s := range []*load.State{&d.Acknowledged, d.Sent} {
		if s != nil && s.Exists() && original == d.Content(s.Version) {
			version = s.Version
		}
	}
	if version == 0 {
		k.lost(d, "exists with another original: %d bytes, %q", len(original), shortened(original))
		return nil
	}
	var chunks []string
	for c, err := range k.client.ListChunks(ctx, source.Id) {
		if err != nil {
			return k.unreadable(ctx, d, "chunks", err)
		}
		chunks = append(chunks, c.Text)
	}
	if fault := faultOfChunks(d.Name, version, chunks, int(source.Chunks)); fault != "" {
		k.lost(d, "has the original of version %d, but %s", version, fault)
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.versions[d.Name] = version
	return nil
}

// unreadable adds a finding, unless ctx is done.
func (k *checker) unreadable(ctx context.Context, d load.Expectation, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	k.lost(d, "its %s cannot be read: %v", what, err)
	return nil
}

func (k *checker) original(ctx context.Context, id string) (string, error) {
	o, err := k.client.GetOriginal(ctx, id)
	if err != nil {
		return "", err
	}
	defer o.Close()
	b, err := io.ReadAll(o)
	return string(b), err
}

// faultOfChunks describes the first problem with a version's chunks, or returns "".
func faultOfChunks(n load.Name, version int, chunks []string, want int) string {
	content := n.Content(version)
	if len(chunks) != want || want == 0 {
		return fmt.Sprintf("%d of its %d chunks", len(chunks), want)
	}
	if !n.IsFile && (len(chunks) != 1 || chunks[0] != content) {
		return fmt.Sprintf("its %d chunks have another text: %q", len(chunks), shortened(strings.Join(chunks, " | ")))
	}
	rest := 0 // chunks that aren't in the content
	for _, c := range chunks {
		if !strings.Contains(content, c) {
			rest++
		}
	}
	if rest > 0 {
		return fmt.Sprintf("%d of its %d chunks are not part of it", rest, len(chunks))
	}
	if !strings.HasPrefix(content, chunks[0]) || !strings.HasSuffix(content, chunks[len(chunks)-1]) {
		return "its chunks are not the whole of it"
	}
	return ""
}

// search queries a sample of existing versions, which must be found, and a sample of replaced or deleted versions,
// which must not be found.
func (k *checker) search(ctx context.Context) error {
	var exist, old []string // words
	owner := map[string]load.Expectation{}
	for _, d := range k.expected.Documents {
		if k.gone[d.CustomID] {
			continue
		}
		now := k.versions[d.Name] // 0 if it doesn't exist
		last := d.Acknowledged.Version
		if d.Sent != nil {
			last = max(last, d.Sent.Version)
		}
		for v := 1; v <= last; v++ {
			word := d.Word(v)
			owner[word] = d
			if v == now {
				exist = append(exist, word)
			} else {
				old = append(old, word)
			}
		}
	}
	for _, word := range k.sample(exist) {
		found, err := k.find(ctx, word)
		if err != nil {
			return err
		}
		if !found {
			k.lost(owner[word], "version %d is not found by its word %s", k.versions[owner[word].Name], word)
		}
	}
	for _, word := range k.sample(old) {
		found, err := k.find(ctx, word)
		if err != nil {
			return err
		}
		if found {
			k.lost(owner[word], "the word %s of a version that no longer exists is found", word)
		}
	}
	return nil
}

func (k *checker) sample(from []string) []string {
	k.random.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	return from[:min(queries, len(from))]
}

// find reports whether a query for a word finds a fragment that contains it.
func (k *checker) find(ctx context.Context, word string) (bool, error) {
	topK := fragments
	found, err := k.client.QueryDatastore(ctx, k.expected.Datastore, client.DatastoreQuery{Query: word, TopK: &topK})
	if err != nil {
		return false, fmt.Errorf("searching for %s: %w", word, err)
	}
	return slices.ContainsFunc(found, func(f client.Fragment) bool { return strings.Contains(f.Text, word) }), nil
}

// shortened returns the beginning of a text.
func shortened(s string) string {
	const limit = 100
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
