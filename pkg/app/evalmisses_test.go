package app

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/eval/compare"
	"github.com/sluice/sluice/pkg/eval/misses"
)

// TestEvalExplainsOneMissOfEachKind asks one question for each reason why a search can miss the right passage. Each
// query returns only one result.
func TestEvalExplainsOneMissOfEachKind(t *testing.T) {
	t.Parallel()
	p, storeID := evaluated(t)
	filler := func(word string) string { return strings.TrimSpace(strings.Repeat(word+" and ", 70)) }
	var documents []map[string]any
	for id, text := range map[string]string{
		// In "cut", each of the two long sentences fills a chunk, and the answer straddles the boundary.
		"cut":   "The mast was painted with " + filler("varnish") + " before the sails arrived. They were sewn at Kilmory with " + filler("thread") + " over the winter.",
		"sails": "What was done before the sails arrived: before the sails arrived, what was done.",
		"low":   "Walruses rest on ice.", "high": "Walruses rest: how walruses rest, where walruses rest.",
	} {
		documents = append(documents, map[string]any{"text": text, "name": id, "metadata": map[string]string{"custom_id": id}})
	}
	p.must(p.post("/datastores/upsert/"+storeID, map[string]any{"documents": documents}, nil))
	p.must(p.upload(storeID, "broken.pdf", "broken", []byte("%PDF-1.7 and nothing else"), nil))
	p.settled(storeID, time.Minute)
	want := map[string]misses.Reason{
		"absent": misses.NotInDatastore, "failed": misses.NotSearchable, "text": misses.NotExtracted, "border": misses.CutInTwo, "filters": misses.FilteredOut,
		"words": misses.NotFound, "rank": misses.RankedLow,
	}
	queries := writeLines(t, "q.jsonl",
		`{"_id": "found", "text": "warranty of the Aurora pump", "relevant": ["pump"], "answer": "thirty months"}`,
		`{"_id": "absent", "text": "lamp that blinks", "relevant": ["nothing like it"]}`,
		`{"_id": "failed", "text": "what is in the broken file", "relevant": ["broken"]}`,
		`{"_id": "text", "text": "who sells the Aurora pump", "relevant": ["pump"], "answer": "Tarnholm and Sons"}`,
		`{"_id": "border", "text": "what was done before the sails arrived", "relevant": ["cut"], "answer": "the sails arrived. They were sewn at Kilmory"}`,
		`{"_id": "filters", "text": "warranty of the Aurora pump", "relevant": ["pump"], "filters": {"metadata": {"team": "docs"}}}`,
		`{"_id": "words", "text": "error code E-23 of the Nimbus logger", "relevant": ["low"]}`,
		`{"_id": "rank", "text": "How do walruses rest?", "relevant": ["low"]}`)
	key := []string{"SLUICE_API_KEY=" + testKey}
	out, errs, err := p.eval(t.Context(), key, "--datastore", storeID, "--queries", queries, "--k", "1", "--misses", "20", "--json")
	if err != nil {
		t.Fatal(err, errs)
	}
	var report struct{ Misses misses.Result }
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Misses.Questions != 8 || report.Misses.Missed != len(want) || len(report.Misses.Misses) != len(want) {
		t.Errorf("%d of %d questions are misses, %d are explained", report.Misses.Missed, report.Misses.Questions, len(report.Misses.Misses))
	}
	for _, m := range report.Misses.Misses {
		if m.Reason != want[m.ID] {
			t.Errorf("%s: %s (%s), want %s", m.ID, m.Reason, m.Detail, want[m.ID])
		}
	}
	out, errs, err = p.eval(t.Context(), key, "--datastore", storeID, "--queries", queries, "--k", "1", "--misses", "3")
	if err != nil {
		t.Fatal(err, errs)
	}
	for _, part := range []string{"Misses: 7 of 8 questions", "The first 3 are explained", "not in the datastore: 1", "not searchable: 1", "not extracted: 1"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in\n%s", part, out)
		}
	}

	out, errs, err = p.eval(t.Context(), key, "--datastore", storeID, "--queries", queries, "--modes", "hybrid", "--try", "chunk=64", "--json")
	if err != nil {
		t.Fatal(err, errs)
	}
	var tried struct{ Tried compare.Report }
	if err := json.Unmarshal([]byte(out), &tried); err != nil {
		t.Fatal(err)
	}
	if levels := tried.Tried.Levels; len(levels) != 2 || len(levels[0].Modes) != 2 || levels[0].Modes[1].Mode != "chunks of 64 tokens" {
		t.Errorf("%+v", tried.Tried)
	}
	var stores struct{ Data []struct{ ID string } }
	p.must(p.get("/datastores", &stores))
	if len(stores.Data) != 1 {
		t.Errorf("%d datastores are left", len(stores.Data))
	}
}
