package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
)

// Name of the embedding server's model, which returns the workload's vectors.
const embeddingModel = "workload"

// Marker in each row's text, followed by the row's number, as in item17.
const itemMark = "item"

// itemPattern matches a row's or question's marker and number.
var itemPattern = regexp.MustCompile(`\b(item|question|fresh)([0-9]+)\b`)

// vectorOf returns the vector for the first row or question marked in the text, or a fixed unit vector if there is no
// valid marker.
func (w *workload) vectorOf(text string) []float32 {
	if m := itemPattern.FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[2])
		switch {
		case err != nil:
		case m[1] == "item" && n < len(w.vectors):
			return w.vectors[n]
		case m[1] == "question" && n < len(w.questions):
			return w.questions[n].vector
		case m[1] == "fresh" && n < len(w.fresh):
			return w.fresh[n].vector
		}
	}
	none := make([]float32, dimensions)
	none[0] = 1
	return none
}

// embed handles POST /v1/embeddings like an OpenAI-compatible server, with the workload's vectors.
func (w *workload) embed(rw http.ResponseWriter, r *http.Request) {
	var asked struct {
		Input  json.RawMessage `json:"input"`
		Format string          `json:"encoding_format"`
	}
	var texts []string
	err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 64<<20)).Decode(&asked)
	if err == nil {
		var one string
		if json.Unmarshal(asked.Input, &one) == nil {
			texts = []string{one}
		} else {
			err = json.Unmarshal(asked.Input, &texts)
		}
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	type item struct {
		Object    string `json:"object"`
		Index     int    `json:"index"`
		Embedding any    `json:"embedding"`
	}
	items := make([]item, len(texts))
	for i, t := range texts {
		v := w.vectorOf(t)
		items[i] = item{"embedding", i, v}
		if asked.Format == "base64" {
			items[i].Embedding = base64.StdEncoding.EncodeToString(bytesOf(v))
		}
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(map[string]any{ // the client may have disconnected
		"object": "list", "model": embeddingModel, "data": items, "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1},
	})
}
