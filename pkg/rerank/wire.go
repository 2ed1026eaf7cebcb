package rerank

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
)

// form is a wire format.
type form int32

// Wire formats. Cohere: https://docs.cohere.com/reference/rerank (v2). Jina: https://api.jina.ai/redoc (POST
// /v1/rerank), also used by vLLM (https://docs.vllm.ai, "Re-rank API"). TEI:
// https://huggingface.github.io/text-embeddings-inference (POST /rerank).
const (
	formCohere form = iota
	formJina
	formTEI
)

// documentsRequest is a request in Cohere's or Jina's format. Jina's format and Cohere's v1 have return_documents, but
// Cohere's v2 does not.
type documentsRequest struct {
	Model           string   `json:"model,omitempty"`
	Query           string   `json:"query"`
	Documents       []string `json:"documents"`
	TopN            int      `json:"top_n"`
	ReturnDocuments *bool    `json:"return_documents,omitempty"`
}

// textsRequest is a request in TEI's format. If `truncate` is omitted, the server rejects texts that are too long for
// the model.
type textsRequest struct {
	Query      string   `json:"query"`
	Texts      []string `json:"texts"`
	RawScores  bool     `json:"raw_scores"`
	ReturnText bool     `json:"return_text"`
	Truncate   bool     `json:"truncate"`
}

func (f form) request(model, query string, texts []string) any {
	if f == formTEI {
		return textsRequest{Query: query, Texts: texts, Truncate: true}
	}
	r := documentsRequest{Model: model, Query: query, Documents: texts, TopN: len(texts)}
	if f == formJina {
		r.ReturnDocuments = new(bool)
	}
	return r
}

// scored is a passage's score in a response. Cohere and Jina use relevance_score, TEI uses score.
type scored struct {
	Index     *int     `json:"index"`
	Relevance *float64 `json:"relevance_score"`
	Score     *float64 `json:"score"`
}

// decode parses a response into `scores`, which must have one element per passage. TEI returns an array, and Cohere and
// Jina an object. Either is accepted in any format, because gateways may translate between them.
func decode(body []byte, scores []float64) error {
	var list []scored
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		if err := json.Unmarshal(body, &list); err != nil {
			return fmt.Errorf("the response is not a list of scores: %w", err)
		}
	} else {
		var object struct {
			Results []scored `json:"results"`
		}
		if err := json.Unmarshal(body, &object); err != nil {
			return fmt.Errorf("the response is not in a reranker's format: %w", err)
		}
		list = object.Results
	}
	if len(list) != len(scores) {
		return fmt.Errorf("the response has %d results for %d passages", len(list), len(scores))
	}
	seen := make([]bool, len(scores))
	for _, s := range list {
		value := cmp.Or(s.Relevance, s.Score)
		switch {
		case s.Index == nil || value == nil:
			return fmt.Errorf("a result has no index or no score")
		case *s.Index < 0 || *s.Index >= len(scores):
			return fmt.Errorf("result index %d is out of range: %d passages were sent", *s.Index, len(scores))
		case seen[*s.Index]:
			return fmt.Errorf("there are two results with index %d", *s.Index)
		case math.IsNaN(*value) || math.IsInf(*value, 0):
			return fmt.Errorf("the score of result %d is not finite", *s.Index)
		}
		seen[*s.Index], scores[*s.Index] = true, *value
	}
	return nil
}
