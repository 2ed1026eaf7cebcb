package cli

import (
	"fmt"
	"io"

	"github.com/sluice/sluice/pkg/client"
)

// failure describes a document that could not be added.
type failure struct {
	Name  string `json:"name"`
	ID    string `json:"id,omitempty"`
	Error string `json:"error"`
}

// warning describes a change that the service made to a document.
type warning struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Warning string `json:"warning"`
}

// documentResult describes a document this run sent or waited for.
type documentResult struct {
	Name   string                  `json:"name"`
	ID     string                  `json:"id"`
	Status client.DatasourceStatus `json:"status"`
	Chunks int64                   `json:"chunks"`
	Error  string                  `json:"error,omitempty"`
	Crawl  *client.CrawlProgress   `json:"crawl,omitempty"` // websites only
}

// verification compares an imported vector store with the datastore it was imported into.
type verification struct {
	Files      int64 `json:"files"`      // files in the other service
	Stored     int64 `json:"stored"`     // those stored in the datastore
	Searchable int64 `json:"searchable"` // those that are searchable
}

// outcome is the result of a run that added documents.
type outcome struct {
	Datastore struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"datastore"`
	Found     int64            `json:"found"`     // documents found
	Unchanged int64            `json:"unchanged"` // documents already stored
	Sent      int64            `json:"sent"`      // documents that this run sent
	Synched   int64            `json:"synched"`   // searchable documents that this run sent or waited for
	Failed    int64            `json:"failed"`
	Deleted   int64            `json:"deleted"` // old versions and files that no longer exist
	LeftOut   int64            `json:"leftOut"`
	Documents []documentResult `json:"documents"` // documents that this run sent or waited for
	Failures  []failure        `json:"failures"`
	Left      []failure        `json:"left"` // skipped documents, with reasons
	Warnings  []warning        `json:"warnings"`
	Verified  *verification    `json:"verified,omitempty"` // only for imports from another service

	alreadyProcessed int64 // number of Unchanged documents that were already processed; the run waits for the others
}

// summary describes the results so far.
func (o *outcome) summary() string {
	text := fmt.Sprintf("%s: %d searchable", Counted(o.Found, "document"), o.Synched+o.alreadyProcessed)
	for _, part := range []struct {
		n    int64
		what string
	}{{o.Sent, "sent"}, {o.Unchanged, "unchanged"}, {o.Deleted, "deleted"}, {o.LeftOut, "skipped"}, {o.Failed, "failed"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}

// writeFailures lists the failures and says how many of the `total` were left out.
func writeFailures(w io.Writer, failures []failure, total int) {
	for _, f := range failures {
		fmt.Fprintf(w, "  failed: %s: %s\n", oneLine(f.Name), oneLine(f.Error))
	}
	if rest := total - len(failures); rest > 0 {
		fmt.Fprintf(w, "  … and %d more\n", rest)
	}
}
