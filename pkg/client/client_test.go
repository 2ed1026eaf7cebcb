package client_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/client"
)

const (
	pump   = "The warranty of the Aurora pump lasts thirty months and begins when the pump is delivered."
	logger = "Error code E-23 of the Nimbus logger says that the antenna is wet inside."
)

func TestFromAFileToACitedAnswer(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), t.Context()
	store := newStore(t, c)
	var sent, size int64
	made, err := c.Upload(ctx, store, client.File{Name: "pump.txt", Content: strings.NewReader(pump), CustomID: "pump",
		Metadata: map[string]any{"team": "pumps"}, Progress: func(s, all int64) { sent, size = s, all }})
	must(t, err)
	if made.Name != "pump.txt" || made.CustomId == nil || *made.CustomId != "pump" || made.Metadata["team"] != "pumps" {
		t.Errorf("made %+v", made)
	}
	if want := int64(len(pump)); sent != want || size != want {
		t.Errorf("progress ended at %d of %d, want %d", sent, size, want)
	}
	_, err = c.Upload(ctx, store, client.File{Name: "logger.txt", Content: onlyReader{strings.NewReader(logger)}})
	must(t, err)
	var last client.DatasourceCounts
	must(t, c.Settled(ctx, store, func(counts client.DatasourceCounts) { last = counts }))
	if last.Synched != 2 || last.Total != 2 {
		t.Errorf("settled at %+v", last)
	}

	found, err := c.QueryDatastore(ctx, store, client.DatastoreQuery{Query: "How long is the warranty?",
		Filters: &client.Filters{CustomIds: &[]string{"pump"}}})
	must(t, err)
	if len(found) != 1 || found[0].Text != pump || found[0].Source != "pump.txt" {
		t.Errorf("found %+v", found)
	}
	explained, err := c.ExplainQuery(ctx, store, client.DatastoreQuery{Query: "E-23"})
	must(t, err)
	if len(explained.Fragments) == 0 || explained.Explanation.Query != "E-23" {
		t.Errorf("explained %+v", explained)
	}

	agent, err := c.CreateAgent(ctx, client.AgentCreate{Name: "Support", DatastoreIds: &[]string{store}})
	must(t, err)
	question := client.AgentQuery{Query: "How long is the warranty of the Aurora pump?"}
	answer, err := c.QueryAgent(ctx, agent.Id, question)
	must(t, err)
	if !strings.Contains(answer.Answer, "thirty months") || len(answer.Sources) == 0 {
		t.Errorf("answered %+v", answer)
	}
	var text strings.Builder
	question.ConversationId = &answer.ConversationId
	streamed, err := c.StreamAgent(ctx, agent.Id, question, func(piece string) error { text.WriteString(piece); return nil })
	must(t, err)
	if streamed.Answer != text.String() || streamed.ConversationId != answer.ConversationId || len(streamed.Sources) == 0 {
		t.Errorf("streamed %q as pieces and %+v", text.String(), streamed)
	}
	errEnough := errors.New("enough")
	if _, err := c.StreamAgent(ctx, agent.Id, question, func(string) error { return errEnough }); !errors.Is(err, errEnough) {
		t.Errorf("a caller that has enough gets %v", err)
	}
	talk, err := c.GetConversation(ctx, answer.ConversationId)
	must(t, err)
	if len(talk.Messages) < 4 {
		t.Errorf("the conversation has %d messages", len(talk.Messages))
	}

	original, err := c.GetOriginal(ctx, made.Id)
	must(t, err)
	content, err := io.ReadAll(original)
	must(t, errors.Join(err, original.Close()))
	if string(content) != pump || original.Name != "pump.txt" || original.Size != int64(len(pump)) {
		t.Errorf("the original of %q is %q, %d bytes", original.Name, content, original.Size)
	}
	must(t, c.DeleteDatasource(ctx, made.Id))
	must(t, c.DeleteConversation(ctx, answer.ConversationId))
	must(t, c.DeleteAgent(ctx, agent.Id))
	must(t, c.DeleteDatastore(ctx, store))
	if _, err := c.GetDatastore(ctx, store); client.CodeOf(err) != client.CodeNotFound {
		t.Errorf("the deleted datastore: %v", err)
	}
}

func TestListsAreIteratedOverPageByPage(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), t.Context()
	store := newStore(t, c)
	documents := make([]client.Document, 201) // more than one page
	for i := range documents {
		documents[i].Text = strings.Repeat("word ", i+1)
	}
	ids, err := c.UpsertDocuments(ctx, store, documents...)
	must(t, err)
	var listed []string
	all := c.ListDatasources(ctx, &client.ListDatasourcesParams{DatastoreId: &store})
	for d, err := range all {
		must(t, err)
		listed = append(listed, d.Id)
	}
	slices.Sort(ids)
	if slices.Sort(listed); !slices.Equal(ids, listed) {
		t.Errorf("listed %d datasources of %d, or others", len(listed), len(ids))
	}
	for range all {
		break // everything must be closed after that; TestMain checks it
	}
	for _, err := range open(t).ListChunks(ctx, "..") {
		if err == nil || !strings.Contains(err.Error(), "not a valid id") {
			t.Errorf("an id that is none: %v", err)
		}
	}
}

func TestRejectedTextsAreNamedAndTheOthersStored(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), t.Context()
	store := newStore(t, c)
	documents := []client.Document{{Text: pump}, {Text: " "}, {Text: "a\x00b"}}
	ids, err := c.UpsertDocuments(ctx, store, documents...)
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != client.CodeInvalid || len(refused.Fields) != 1 || refused.Field() != "documents[1].text" {
		t.Fatalf("the error is %#v", err)
	}
	if len(ids) != 3 || ids[0] == "" || ids[1] != "" || ids[2] == "" {
		t.Fatalf("the ids are %q", ids)
	}
	if d, err := c.GetDatasource(ctx, ids[2]); err != nil || d.Name != "ab" {
		t.Errorf("the cleaned text is %+v, %v", d, err)
	}
	each, err := c.UpsertEach(ctx, store, documents...)
	must(t, err)
	if w := each.Results[2].Warnings; each.Results[1].Status != client.DocumentResultStatusRejected || w == nil || (*w)[0].Field != "documents[2].text" {
		t.Errorf("the results are %+v", each.Results)
	}
	_, err = c.UpsertDocuments(ctx, store, documents[1])
	if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
		t.Errorf("only a rejected text: %v", err)
	}
}

func TestAWatchReportsLaterChanges(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), t.Context()
	store := newStore(t, c)
	changes, err := c.WatchDatastore(ctx, store)
	must(t, err)
	ids, err := c.UpsertDocuments(ctx, store, client.Document{Text: pump})
	must(t, err)
	for change, err := range changes {
		must(t, err)
		if d := change.Datasource; d != nil && d.Id == ids[0] && d.Status == client.DatasourceStatusSynched {
			return
		}
	}
	t.Error("the watch has ended")
}

func TestErrorsAreTyped(t *testing.T) {
	t.Parallel()
	c, ctx := open(t), t.Context()
	hot, none := 1.5, "00000000-0000-7000-8000-000000000000"
	_, wrongKey := openAt(t, os.Getenv("SLUICE_URL"), "sk_wrong").GetAgent(ctx, none)
	_, missing := c.GetAgent(ctx, none)
	_, invalid := c.CreateAgent(ctx, client.AgentCreate{Name: " ", Temperature: &hot})
	program := strings.NewReader("MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff")
	_, strange := c.Upload(ctx, newStore(t, c), client.File{Name: "x.exe", Content: program})
	for name, test := range map[string]struct {
		err    error
		status int
		code   client.ProblemError
		says   string
	}{
		"a key that is wrong":   {wrongKey, 403, client.CodeUnauthorized, "key"},
		"what there is not":     {missing, 404, client.CodeNotFound, none},
		"faults of a request":   {invalid, 400, client.CodeInvalid, "temperature: 1.5 is above the maximum of 1"},
		"a type that is unread": {strange, 415, client.CodeUnsupportedType, "supported types: PDF, PNG, JPEG, TIFF, WebP, EPUB, OpenDocument text (odt), spreadsheet (ods), presentation (odp), Word (docx)"},
	} {
		var e *client.Error
		if !errors.As(test.err, &e) || e.Status != test.status || client.CodeOf(test.err) != test.code || e.RequestID == "" ||
			!strings.Contains(e.Error(), test.says) {
			t.Errorf("%s: %v", name, test.err)
		}
	}
	var e *client.Error
	if errors.As(invalid, &e); len(e.Fields) != 2 || e.Field() == "" {
		t.Errorf("the faults are %+v", e.Fields)
	}
}

func TestAddressesAndKeysAreValidated(t *testing.T) {
	t.Parallel()
	for address, key := range map[string]string{
		"127.0.0.1:8080": "", "ftp://host": "", "http://": "", "http://u:secret@host": "", "http://host?x=1": "", "http://host": "sk_a\n",
	} {
		_, err := client.New(address, key)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q with the key %q: %v", address, key, err)
		}
	}
	under := openAt(t, os.Getenv("SLUICE_URL")+"/api/", testKey)
	if _, err := under.ListKeys(t.Context()); err != nil {
		t.Error(err)
	}
}
