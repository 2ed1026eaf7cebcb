package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFaultyDocumentsOfAnUpsertAreRejectedAlone sends a valid document along with every kind of invalid document. Only
// the invalid ones may be rejected.
func TestFaultyDocumentsOfAnUpsertAreRejectedAlone(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore := s.newDatastore()
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	faulty := []struct{ document, field, message string }{
		{`{"text": " \t\n"}`, "text", "is empty; it must contain text"},
		{`{"text": "\u0000\u0000"}`, "text", "is empty; it must contain text"},
		{`{"text": null}`, "text", "is required"},
		{`{"name": "without text"}`, "text", "is required"},
		{`{"text": 7}`, "text", "is 7; it must be a string"},
		{`"only a text"`, "", `is "only a text"; it must be an object`},
		{`null`, "", "is null; it must be an object"},
		{`{"text": "a", "custom_id": "` + strings.Repeat("i", 201) + `"}`, "custom_id", "has 201 characters; the limit is 200"},
		{`{"text": "a", "custom_id": "a\u0000b"}`, "custom_id", `contains a NUL character (\u0000); remove it`},
		{`{"text": "a", "metadata": {"custom_id": "a\u0000b"}}`, "metadata.custom_id", `contains a NUL character (\u0000); remove it`},
		{`{"text": "a", "metadata": {"k\u0000": 1}}`, "metadata", `has a key with a NUL character (\u0000); remove it`},
		{`{"text": "a", "text": "b"}`, "text", "appears twice in the same object; send it only once"},
		{`{"text": "a", "metadata": {"n": 1e999}}`, "metadata.n", "is 1e999, which is too large for a 64-bit floating-point number"},
		{`{"text": "a", "metadata": {"k": "` + strings.Repeat("v", 17<<10) + `"}}`, "metadata", "is 17416 bytes long as JSON; the limit is 16 KiB"},
		{`{"text": "a", "metdata": {}}`, "metdata", "is unknown; did you mean documents[%d].metadata?"},
		{`{"text": "a", "custom_id": "x", "metadata": {"custom_id": "y"}}`, "metadata.custom_id", `is "y", but custom_id is "x"; send only one of them`},
		{"{\"text\": \"caf\xe9\"}", "text", "is not valid UTF-8; encode it as UTF-8"},
		{`{"text": "a", "metadata": {"d": ` + deep + `}}`, "metadata.d" + strings.Repeat("[0]", 12), "is nested deeper than 64 levels; flatten it"},
	}
	documents := make([]string, 0, 2*len(faulty))
	for i, f := range faulty {
		documents = append(documents, f.document, fmt.Sprintf(`{"text": "document %d"}`, i))
	}
	body := `{"documents": [` + strings.Join(documents, ",") + "]}"
	answer := s.call("POST", "/datastores/upsert/"+datastore, body).want(200).object()
	ids, results := answer.list("ids"), answer.list("results")
	if len(ids) != len(documents) || len(results) != len(documents) {
		t.Fatalf("%d ids and %d results for %d documents", len(ids), len(results), len(documents))
	}
	for i, f := range faulty {
		at := fmt.Sprintf("documents[%d]", 2*i)
		if f.field != "" {
			at += "." + f.field
		}
		if strings.HasSuffix(at, "[0]") && f.field != "" { // a path this long is shortened
			at = at[:60] + "…"
		}
		if strings.Contains(f.message, "%d") {
			f.message = fmt.Sprintf(f.message, 2*i)
		}
		want := map[string]any{"id": "", "status": "rejected", "errors": []any{map[string]any{"field": at, "message": f.message}}}
		if diff := cmp.Diff(want, results[2*i]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.document[:min(len(f.document), 60)], diff)
		}
		stored := object(results[2*i+1].(map[string]any))
		if ids[2*i] != "" || ids[2*i+1] != stored["id"] || stored["status"] != "created" || stored["errors"] != nil || stored["warnings"] != nil {
			t.Errorf("the document after it: %v, with the ids %v", stored, ids[2*i:2*i+2])
		}
		if _, text := s.read(stored.id()); text != fmt.Sprint("document ", i) {
			t.Errorf("document %d has the text %q", i, text)
		}
	}
}

func TestHarmlessFaultsOfDocumentsAreRemovedWithAWarning(t *testing.T) {
	t.Parallel()
	s := newService(t)
	answer := s.call("POST", "/datastores/upsert/"+s.newDatastore(), object{"documents": []object{
		{"text": "a\x00b\x00", "metadata": object{"tags": []any{"x", "\x00y"}, "owner": object{"name": "A\x00da"}}},
		{"text": "text", "name": strings.Repeat("é", 499) + " é, and more"},
	}}).want(200).object()
	const removed = "contained NUL characters, which were removed"
	want := [][]any{
		{
			map[string]any{"field": "documents[0].metadata.owner.name", "message": removed},
			map[string]any{"field": "documents[0].metadata.tags[1]", "message": removed},
			map[string]any{"field": "documents[0].text", "message": removed},
		},
		{map[string]any{"field": "documents[1].name", "message": "had 511 characters and was shortened to the limit of 500"}},
	}
	for i, result := range answer.list("results") {
		r := object(result.(map[string]any))
		if diff := cmp.Diff(want[i], r.list("warnings")); diff != "" || r["status"] != "created" {
			t.Errorf("document %d is %v (-want +got):\n%s", i, r["status"], diff)
		}
	}
	ids := answer.list("ids")
	d, text := s.read(ids[0].(string))
	metadata := map[string]any{"tags": []any{"x", "y"}, "owner": map[string]any{"name": "Ada"}}
	if diff := cmp.Diff(metadata, d.Metadata); text != "ab" || diff != "" {
		t.Errorf("the text is %q; metadata (-want +got):\n%s", text, diff)
	}
	if d, _ := s.read(ids[1].(string)); d.Name != strings.Repeat("é", 499) {
		t.Errorf("the name is %q", d.Name)
	}
}

func TestResultsTellWhatBecameOfDocumentsWithOneCustomID(t *testing.T) {
	t.Parallel()
	s := newService(t)
	datastore := s.newDatastore()
	upsert := func(documents ...object) (statuses string) {
		t.Helper()
		for _, r := range s.call("POST", "/datastores/upsert/"+datastore, object{"documents": documents}, "Idempotency-Key", fmt.Sprint(len(documents))).want(200).object().list("results") {
			statuses += r.(map[string]any)["status"].(string) + " "
		}
		return statuses
	}
	custom := func(text string) object { return object{"text": text, "custom_id": "one"} }
	if got := upsert(custom("a"), object{"text": "b"}, custom("c"), custom(" ")); got != "superseded created created rejected " {
		t.Errorf("the first time: %s", got)
	}
	if got := upsert(custom("d")); got != "replaced " {
		t.Errorf("the second time: %s", got)
	}
	for range 2 { // the stored answer
		if got := upsert(custom("a"), object{"text": "b"}, custom("c"), custom(" ")); got != "superseded created created rejected " {
			t.Errorf("again: %s", got)
		}
	}
}

func TestABatchOfOnlyFaultyDocumentsIsRejected(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a := s.call("POST", "/datastores/upsert/"+s.newDatastore(), `{"documents": [{"text": ""}, {"text": "a", "custom_id": 5}]}`)
	a.fault("documents[0].text")
	a.fault("documents[1].custom_id")
	if n := len(a.problem(400).Errors); n != 2 {
		t.Errorf("%d faults: %s", n, a.body)
	}
	if n := len(s.call("GET", "/datasources", nil).object().list("data")); n != 0 {
		t.Errorf("%d datasources were stored", n)
	}
}

func TestNoMoreThanTenFaultsOfADocumentAreListed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	metadata := make([]string, 25)
	for i := range metadata {
		metadata[i] = fmt.Sprintf(`"k%d": 1e999`, i)
	}
	body := `{"documents": [{"text": "a"}, {"text": "a", "metadata": {` + strings.Join(metadata, ",") + `}}]}`
	results := s.call("POST", "/datastores/upsert/"+s.newDatastore(), body).want(200).object().list("results")
	faults := object(results[1].(map[string]any)).list("errors")
	if last := object(faults[len(faults)-1].(map[string]any)).text("message"); len(faults) != 10 || !strings.HasSuffix(last, "(and 15 more)") {
		t.Errorf("%d faults, the last %q", len(faults), last)
	}
}
