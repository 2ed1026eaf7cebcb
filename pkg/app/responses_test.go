package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type responseObject struct {
	ID, Status, Model string
	Background        bool
	Error             *struct{ Code, Message string }
	Incomplete        *struct{ Reason string } `json:"incomplete_details"`
	Usage             *struct {
		Total int `json:"total_tokens"`
	}
	Previous string `json:"previous_response_id"`
	Output   []responseItem
	Grounded *bool
}

type responseItem struct {
	Type, ID, Status, Role, Name, Arguments string
	CallID                                  string `json:"call_id"`
	Queries                                 []string
	Results                                 []struct {
		FileID   string `json:"file_id"`
		Filename string
		Score    float64
		Text     string
	}
	Content []struct {
		Type, Text  string
		Annotations []struct {
			Type     string
			Index    int
			FileID   string `json:"file_id"`
			Filename string
		}
	}
}

func (r responseObject) text() string {
	var out string
	for _, i := range r.Output {
		for _, c := range i.Content {
			out += c.Text
		}
	}
	return out
}

// item returns the output item of the given type.
func (r responseObject) item(t testing.TB, kind string) responseItem {
	t.Helper()
	i := slices.IndexFunc(r.Output, func(i responseItem) bool { return i.Type == kind })
	if i < 0 {
		t.Fatalf("there is no %s: %+v", kind, r)
	}
	return r.Output[i]
}

func (p *program) respond(t testing.TB, body map[string]any) (r responseObject) {
	t.Helper()
	if err := p.post("/v1/responses", body, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

type eventOf struct {
	Type     string
	Sequence int `json:"sequence_number"`
	Delta    string
	Text     string
	Response responseObject
	raw      string
}

// events sends a request and returns the stream's events until `until` returns true or the stream ends.
func (p *program) events(t testing.TB, method, path string, body any, until func(eventOf) bool) (all []eventOf) {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+p.addr+path, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(res.Body)
		t.Fatalf("%d: %s", res.StatusCode, said)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		if data == "[DONE]" {
			return all
		}
		e := eventOf{raw: data}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if all = append(all, e); until != nil && until(e) {
			return all
		}
	}
	t.Fatalf("the stream broke after %d events: %v", len(all), lines.Err())
	return nil
}

// waitFor waits until the response has ended and returns it.
func (p *program) waitFor(t testing.TB, id string) (r responseObject) {
	t.Helper()
	p.eventually(time.Minute, "the response has not ended", func() bool {
		p.must(p.get("/v1/responses/"+id, &r))
		return r.Status != "queued" && r.Status != "in_progress"
	})
	return r
}

func (p *program) pumpStore(t testing.TB) string {
	t.Helper()
	store := p.newDatastore()
	p.must(p.upload(store, "pump.txt", "pump", []byte("The warranty of the Aurora pump lasts thirty months.\n\nThe pump weighs 4 kg. The größte Düse has 7 mm."), nil))
	p.settled(store, time.Minute)
	return store
}

func TestResponsesNeedNoChatModel(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.pumpStore(t)
	search := map[string]any{"type": "file_search", "vector_store_ids": []string{"vs_" + store}, "max_num_results": 3}
	const question = "How long does the warranty of the Aurora pump last?"
	first := p.respond(t, map[string]any{"model": "gpt-4o-mini", "input": question, "tools": []any{search}, "include": []string{"file_search_call.results"}, "metadata": map[string]string{"a": "b"}})
	found := first.item(t, "file_search_call")
	if first.Status != "completed" || len(found.Queries) != 1 || len(found.Results) == 0 || found.Results[0].Filename != "pump.txt" || !strings.Contains(found.Results[0].Text, "thirty months") {
		t.Fatalf("%+v", first)
	}
	part := first.item(t, "message").Content[0]
	if !strings.Contains(part.Text, "thirty months") || len(part.Annotations) == 0 || first.Grounded == nil || !*first.Grounded {
		t.Fatalf("%+v", first)
	}
	a := part.Annotations[0]
	if mark := string([]rune(part.Text)[a.Index:]); a.Filename != "pump.txt" || a.FileID != found.Results[0].FileID || !strings.HasPrefix(mark, "[1]") {
		t.Errorf("the annotation %+v points to %q", a, mark)
	}

	t.Run("is stored", func(t *testing.T) {
		var again responseObject
		p.must(p.get("/api/v1/responses/"+first.ID+"?include[]=file_search_call.results", &again))
		if diff := cmp.Diff(first, again); diff != "" {
			t.Error(diff)
		}
		p.must(p.get("/v1/responses/"+first.ID, &again))
		if again.item(t, "file_search_call").Results != nil {
			t.Error("results were not requested")
		}
		var items struct {
			Data []responseItem
			More bool `json:"has_more"`
		}
		p.must(p.get("/v1/responses/"+first.ID+"/input_items?order=asc", &items))
		if len(items.Data) != 1 || items.Data[0].Role != "user" || items.Data[0].Content[0].Text != question || items.More {
			t.Errorf("%+v", items)
		}
	})
	t.Run("is continued", func(t *testing.T) {
		second := p.respond(t, map[string]any{"model": "gpt-4o-mini", "input": "And how much does the pump weigh?", "previous_response_id": first.ID, "tools": []any{search}})
		if second.Previous != first.ID || !strings.Contains(second.text(), "4 kg") {
			t.Errorf("%+v", second)
		}
		reference := p.respond(t, map[string]any{"model": "gpt-4o-mini", "tools": []any{search}, "input": []any{
			map[string]any{"role": "user", "content": question}, map[string]any{"type": "item_reference", "id": first.item(t, "message").ID}, map[string]any{"role": "user", "content": "And how much does the pump weigh?"},
		}})
		if !strings.Contains(reference.text(), "4 kg") {
			t.Errorf("%+v", reference)
		}
	})
	t.Run("lists results that are not relevant", func(t *testing.T) {
		got := p.respond(t, map[string]any{"model": "gpt-4o-mini", "input": "Who discovered penicillin?", "tools": []any{search}, "include": []string{"file_search_call.results"}})
		if found := got.item(t, "file_search_call").Results; len(found) == 0 || len(got.item(t, "message").Content[0].Annotations) > 0 {
			t.Errorf("%+v", got)
		}
		strict := map[string]any{"type": "file_search", "vector_store_ids": []string{"vs_" + store}, "ranking_options": map[string]any{"score_threshold": 0.9}}
		got = p.respond(t, map[string]any{"model": "gpt-4o-mini", "input": "Who discovered penicillin?", "tools": []any{strict}, "include": []string{"file_search_call.results"}})
		if found := got.item(t, "file_search_call").Results; len(found) > 0 {
			t.Errorf("%+v", found)
		}
	})
	t.Run("can be an agent's", func(t *testing.T) {
		var agent struct{ ID string }
		p.must(p.post("/agents", map[string]any{"name": "a", "datastoreIds": []string{store}}, &agent))
		got := p.respond(t, map[string]any{"model": agent.ID, "input": question})
		if !strings.Contains(got.text(), "thirty months") || got.Model != agent.ID || len(got.Output) != 1 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("searches with filters", func(t *testing.T) {
		store := p.newDatastore()
		p.must(p.post("/datastores/upsert/"+store, map[string]any{"documents": []any{
			map[string]any{"name": "old", "text": "The warranty of the old pump lasts ten months.", "metadata": map[string]any{"year": 2019}},
			map[string]any{"name": "new", "text": "The warranty of the new pump lasts twenty months.", "metadata": map[string]any{"year": 2024}},
		}}, nil))
		p.settled(store, time.Minute)
		got := p.respond(t, map[string]any{"model": "gpt-4o", "input": "How long does the warranty of the pump last?", "include": []string{"file_search_call.results"}, "tools": []any{
			map[string]any{"type": "file_search", "vector_store_ids": []string{store}, "filters": map[string]any{"type": "gte", "key": "year", "value": 2020}},
		}})
		if found := got.item(t, "file_search_call").Results; len(found) != 1 || found[0].Filename != "new" {
			t.Errorf("%+v", found)
		}
	})
	t.Run("is part of a conversation", func(t *testing.T) {
		var c struct {
			ID       string
			Metadata map[string]string
		}
		p.must(p.post("/v1/conversations", map[string]any{"metadata": map[string]string{"topic": "pumps"}, "items": []any{map[string]any{"type": "message", "role": "developer", "content": "Be brief."}}}, &c))
		p.respond(t, map[string]any{"model": "gpt-4o-mini", "input": question, "conversation": c.ID, "tools": []any{search}})
		p.respond(t, map[string]any{"model": "gpt-4o-mini", "input": "And how much does the pump weigh?", "conversation": map[string]string{"id": c.ID}, "tools": []any{search}, "store": false})
		var items struct{ Data []responseItem }
		p.must(p.get("/v1/conversations/"+c.ID+"/items?order=asc&limit=100", &items))
		var said []string
		for _, i := range items.Data {
			said = append(said, i.Type+" "+i.Role)
		}
		want := []string{"message developer", "message user", "file_search_call ", "message assistant", "message user", "file_search_call ", "message assistant"}
		if !slices.Equal(said, want) || !strings.Contains(items.Data[6].Content[0].Text, "4 kg") {
			t.Errorf("%q", said)
		}
		p.must(p.delete("/v1/conversations/" + c.ID + "/items/" + items.Data[6].ID))
		if err := p.get("/v1/conversations/"+c.ID+"/items/"+items.Data[6].ID, nil); !refusedWith(err, http.StatusNotFound) {
			t.Errorf("the item was deleted: %v", err)
		}
		p.must(p.post("/v1/conversations/"+c.ID, map[string]any{"metadata": map[string]string{"topic": "weights"}}, &c))
		if c.Metadata["topic"] != "weights" {
			t.Errorf("%+v", c)
		}
		p.must(p.delete("/v1/conversations/" + c.ID))
		if err := p.get("/v1/conversations/"+c.ID, nil); !refusedWith(err, http.StatusNotFound) {
			t.Errorf("the conversation was deleted: %v", err)
		}
	})
	t.Run("is deleted", func(t *testing.T) {
		p.must(p.delete("/v1/responses/" + first.ID))
		if err := p.get("/v1/responses/"+first.ID, nil); !refusedWith(err, http.StatusNotFound) {
			t.Errorf("%v", err)
		}
	})
	t.Run("names faults", func(t *testing.T) {
		for _, bad := range []struct {
			body map[string]any
			says string
		}{
			{map[string]any{"model": "my-model", "input": "x"}, `there is no model \"my-model\"`},
			{map[string]any{"model": "gpt-4o", "input": "x", "tools": []any{map[string]any{"type": "function", "name": "f"}}}, "has no chat model"},
			{map[string]any{"model": "gpt-4o", "input": "x", "text": map[string]any{"format": map[string]any{"type": "json_object"}}}, "text.format"},
			{map[string]any{"model": "gpt-4o", "input": "x", "previous_response_id": first.ID}, "previous_response_id"},
			{map[string]any{"model": "gpt-4o", "input": "x", "conversation": "conv_x"}, "conversation"},
			{map[string]any{"model": "gpt-4o", "input": "x", "background": true, "store": false}, "store"},
			{map[string]any{"model": "gpt-4o", "input": strings.Repeat("x", 9000)}, "the limit is 8000"},
			{map[string]any{"model": "gpt-4o", "input": "x", "tools": []any{map[string]any{"type": "file_search", "vector_store_ids": []string{"vs_x"}}}}, "tools[0].vector_store_ids[0]"},
		} {
			err := p.post("/v1/responses", bad.body, nil)
			if err == nil || !strings.Contains(err.Error(), bad.says) || !strings.Contains(err.Error(), "invalid_request_error") {
				t.Errorf("%v: %v", bad.body, err)
			}
		}
	})
}

// responseScenarios holds the chat server's scenarios for tests of responses.
func responseScenarios(hanging chan struct{}) map[string]scenario {
	call := func(w *wire, index int, id, name, arguments string) {
		w.begin()
		w.event("", fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"o-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]},"finish_reason":null}]}`, index, id, name, arguments))
	}
	return map[string]scenario{
		"cites": func(w *wire) {
			for _, piece := range []string{"Größe: thirty", " months [", "1]. It weighs 4 kg [1]", "."} {
				w.text(piece)
			}
			w.end("stop", "end_turn")
		},
		"calls": func(w *wire) {
			call(w, 0, "call_a", "weather", "{\"place\":")
			call(w, 0, "", "", "\"Oslo\"}")
			call(w, 1, "call_b", "now", "{}")
			w.end("tool_calls", "tool_use")
		},
		"greets": func(w *wire) { w.text("Hello"); w.text(" there."); w.end("stop", "end_turn") },
		"cut":    func(w *wire) { w.text("Hello"); w.end("length", "max_tokens") },
		"hangs": func(w *wire) {
			w.text("It begins")
			hanging <- struct{}{}
			w.hang()
		},
		"fails": func(w *wire) { w.text("It begins"); w.cut() },
	}
}

func typesOf(all []eventOf) (out []string) {
	for _, e := range all {
		out = append(out, strings.TrimPrefix(e.Type, "response."))
	}
	return out
}

func TestResponsesOfChatModels(t *testing.T) {
	t.Parallel()
	hanging := make(chan struct{}, 10)
	server := newChatServer(t, responseScenarios(hanging))
	p := newProgram(t, server.settings("SLUICE_CHAT_STALL_TIMEOUT=1m")...)
	p.start()
	store := p.pumpStore(t)
	search := map[string]any{"type": "file_search", "vector_store_ids": []string{"vs_" + store}}

	t.Run("stream", func(t *testing.T) {
		all := p.events(t, "POST", "/v1/responses", map[string]any{"model": "llm_3_5_turbo", "input": "warranty of the Aurora pump <cites>", "tools": []any{search}, "stream": true}, nil)
		want := []string{
			"created", "in_progress", "output_item.added", "file_search_call.in_progress", "file_search_call.searching", "file_search_call.completed", "output_item.done",
			"output_item.added", "content_part.added", "output_text.delta",
		}
		if got := typesOf(all); !slices.Equal(got[:len(want)], want) {
			t.Fatalf("%q", got)
		}
		if got := typesOf(all); !slices.Equal(got[len(got)-6:], []string{"output_text.annotation.added", "output_text.annotation.added", "output_text.done", "content_part.done", "output_item.done", "completed"}) {
			t.Fatalf("%q", got)
		}
		var text string
		for i, e := range all {
			if e.Sequence != i {
				t.Errorf("event %d has the number %d", i, e.Sequence)
			}
			if e.Type == "response.output_text.delta" {
				text += e.Delta
			}
		}
		last := all[len(all)-1].Response
		if text != "Größe: thirty months [1]. It weighs 4 kg [1]." || last.text() != text || last.Usage == nil || last.Usage.Total == 0 {
			t.Errorf("%q, %+v", text, last)
		}
		for i, a := range last.item(t, "message").Content[0].Annotations {
			at := strings.Index(text, "[1]")
			if i == 1 {
				at = strings.LastIndex(text, "[1]")
			}
			if want := utf8.RuneCountInString(text[:at]); a.Index != want {
				t.Errorf("annotation %d has the index %d, want %d", i, a.Index, want)
			}
		}
		again := p.events(t, "GET", "/v1/responses/"+last.ID+"?stream=true&starting_after=8", nil, nil)
		for i, e := range again {
			if e.raw != all[9+i].raw {
				t.Errorf("event %d is %s, want %s", i, e.raw, all[9+i].raw)
			}
		}
		if len(again) != len(all)-9 {
			t.Errorf("%d events, want %d", len(again), len(all)-9)
		}
	})
	functions := []any{
		map[string]any{"type": "function", "name": "weather", "parameters": map[string]any{"type": "object"}}, map[string]any{"type": "function", "name": "now", "parameters": nil},
	}
	t.Run("call functions", func(t *testing.T) {
		body := map[string]any{"model": "o", "input": "weather? <calls>", "tools": functions}
		first := p.respond(t, body)
		if len(first.Output) != 2 || first.Output[0].Name != "weather" || first.Output[0].Arguments != `{"place":"Oslo"}` || first.Output[1].CallID != "call_b" {
			t.Fatalf("%+v", first)
		}
		body["stream"] = true
		all := p.events(t, "POST", "/v1/responses", body, nil)
		want := []string{
			"created", "in_progress", "output_item.added", "function_call_arguments.delta", "function_call_arguments.delta", "output_item.added", "function_call_arguments.delta",
			"function_call_arguments.done", "output_item.done", "function_call_arguments.done", "output_item.done", "completed",
		}
		if got := typesOf(all); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		body["parallel_tool_calls"], body["stream"] = false, false
		if one := p.respond(t, body); len(one.Output) != 1 {
			t.Errorf("%+v", one)
		}
		second := p.respond(t, map[string]any{"model": "o", "previous_response_id": first.ID, "tools": functions, "input": []any{
			map[string]any{"type": "function_call_output", "call_id": "call_a", "output": "rain"}, map[string]any{"type": "function_call_output", "call_id": "call_b", "output": "noon <greets>"},
		}})
		if second.text() != "Hello there." {
			t.Errorf("%+v", second)
		}
	})
	t.Run("end early", func(t *testing.T) {
		got := p.respond(t, map[string]any{"model": "o", "input": "<cut>", "max_output_tokens": 16})
		if got.Status != "incomplete" || got.Incomplete.Reason != "max_output_tokens" || got.Output[0].Status != "incomplete" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("fail midway", func(t *testing.T) {
		all := p.events(t, "POST", "/v1/responses", map[string]any{"model": "o", "input": "<fails>", "stream": true}, nil)
		last := all[len(all)-1]
		if last.Type != "response.failed" || last.Response.Error == nil || last.Response.Error.Code != "server_error" {
			t.Errorf("%s", last.raw)
		}
		if stored := p.waitFor(t, last.Response.ID); stored.Status != "failed" {
			t.Errorf("%+v", stored)
		}
	})
	t.Run("in the background", func(t *testing.T) {
		body := map[string]any{"model": "o", "input": "<greets>", "background": true}
		got := p.respond(t, body)
		if got.Status != "queued" || !got.Background {
			t.Errorf("%+v", got)
		}
		if got = p.waitFor(t, got.ID); got.Status != "completed" || got.text() != "Hello there." {
			t.Errorf("%+v", got)
		}
		body["stream"] = true
		all := p.events(t, "POST", "/v1/responses", body, nil)
		if got := typesOf(all); !slices.Equal(got[:3], []string{"created", "queued", "in_progress"}) || got[len(got)-1] != "completed" {
			t.Errorf("%q", got)
		}
		again := p.events(t, "GET", "/v1/responses/"+all[0].Response.ID+"?stream=true", nil, nil)
		if !slices.Equal(typesOf(again), typesOf(all)) {
			t.Errorf("%q, want %q", typesOf(again), typesOf(all))
		}
	})
	t.Run("are cancelled", func(t *testing.T) {
		all := p.events(t, "POST", "/v1/responses", map[string]any{"model": "o", "input": "<hangs>", "background": true, "stream": true}, func(e eventOf) bool { return e.Delta != "" })
		<-hanging
		id := all[0].Response.ID
		var got responseObject
		p.must(p.post("/v1/responses/"+id+"/cancel", map[string]any{}, &got))
		if got.Status != "cancelled" {
			t.Errorf("%+v", got)
		}
		if got = p.waitFor(t, id); got.Status != "cancelled" {
			t.Errorf("%+v", got)
		}
		foreground := p.respond(t, map[string]any{"model": "o", "input": "<greets>"})
		if err := p.post("/v1/responses/"+foreground.ID+"/cancel", map[string]any{}, nil); !refusedWith(err, http.StatusBadRequest) {
			t.Errorf("%v", err)
		}
	})
	t.Run("fail if the process dies", func(t *testing.T) {
		killed := p.respond(t, map[string]any{"model": "o", "input": "<hangs>", "background": true})
		<-hanging
		p.kill()
		p.start()
		got := p.waitFor(t, killed.ID)
		if got.Status != "failed" || got.Error == nil || got.Error.Code != "server_error" {
			t.Errorf("%+v", got)
		}
		all := p.events(t, "POST", "/v1/responses", map[string]any{"model": "o", "input": "<hangs>", "background": true, "stream": true}, func(e eventOf) bool { return e.Delta != "" })
		<-hanging
		p.must(p.terminate())
		p.start()
		if got = p.waitFor(t, all[0].Response.ID); got.Status != "failed" || !strings.Contains(got.Error.Message, "stopped") || got.text() != "It begins" {
			t.Errorf("%+v", got)
		}
	})
}
