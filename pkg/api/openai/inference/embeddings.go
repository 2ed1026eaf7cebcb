package inference

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
)

type embeddingRequest struct {
	Model      string `json:"model"` // "" means the default model
	Input      inputs `json:"input"`
	Encoding   string `json:"encoding_format"`
	Dimensions *int   `json:"dimensions"`
	// InputType is for models that embed queries and documents differently. It's an extension used in Cohere's and
	// other APIs.
	InputType string `json:"input_type"`
}

// Values of encoding_format.
const (
	encodingFloat  = "float"
	encodingBase64 = "base64"
)

// purposes maps input_type values to embedding purposes.
var purposes = map[string]embed.Purpose{
	"": embed.Passage, "document": embed.Passage, "passage": embed.Passage, "search_document": embed.Passage,
	"query": embed.Query, "search_query": embed.Query,
}

func (r *embeddingRequest) check() error {
	var faults []domain.FieldError
	if len(r.Input) == 0 {
		faults = append(faults, domain.FieldError{Field: "input", Message: "is required; " + inputForms})
	}
	if r.Encoding != "" && r.Encoding != encodingFloat && r.Encoding != encodingBase64 {
		faults = append(faults, domain.FieldError{Field: "encoding_format", Message: "is " + jsonbody.Describe(r.Encoding) + "; it must be float or base64"})
	}
	if _, known := purposes[r.InputType]; !known {
		faults = append(faults, domain.FieldError{Field: "input_type", Message: "is " + jsonbody.Describe(r.InputType) + "; it must be query or document"})
	}
	if r.Dimensions != nil && *r.Dimensions < 1 {
		faults = append(faults, domain.FieldError{Field: "dimensions", Message: "is " + jsonbody.Describe(float64(*r.Dimensions)) + "; it must be at least 1"})
	}
	return problem.Invalid(faults)
}

// createEmbedding serves POST /v1/embeddings.
func (h *Handler) createEmbedding(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	var r embeddingRequest
	if err := openai.Decode(c, &r); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	model, err := h.embedder(r.Model)
	if err != nil {
		return err
	}
	if err := checkDimensions(model.Model(), r.Dimensions); err != nil {
		return err
	}
	vectors, err := h.vectors(ctx, caller, model, r)
	if err != nil {
		return err
	}
	tokens := 0
	for _, text := range r.Input {
		tokens += chunk.Tokens(text)
	}
	h.count(caller, tokens)
	h.writeEmbeddings(c, model.Model().ID, vectors, r.Encoding == encodingBase64, tokens)
	return nil
}

// vectors returns the inputs' vectors, with the requested number of dimensions.
func (h *Handler) vectors(ctx context.Context, caller access.Caller, model embed.Embedder, r embeddingRequest) ([][]float32, error) {
	flow := access.WorkspaceFlow(caller.Workspace())
	slot, err := h.enter(ctx, flow)
	if err != nil {
		return nil, err
	}
	defer slot.Leave()
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	vectors, err := h.embedTexts(ctx, flow, model, r.Input, purposes[r.InputType])
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(r.Input) {
		return nil, errors.New("the embedding model did not return one vector per text")
	}
	if err := checkDimensions(model.Model(), r.Dimensions); err != nil { // a server's dimensions are known only now
		return nil, err
	}
	if r.Dimensions != nil {
		for i, vector := range vectors {
			vectors[i] = shorten(vector, *r.Dimensions)
		}
	}
	return vectors, nil
}

// checkDimensions returns an error if the model can't produce vectors with this many dimensions. If the model's own
// number of dimensions isn't known yet, checkDimensions accepts any number.
func checkDimensions(m embed.Model, wanted *int) error {
	switch {
	case wanted == nil || m.Dimensions == 0 || *wanted == m.Dimensions:
		return nil
	case *wanted > m.Dimensions:
		return domain.Invalid("dimensions", "is %d, but vectors from the model %s have %d dimensions; send a smaller number, or leave the field out", *wanted, m.ID, m.Dimensions)
	case !embed.CanShorten(m):
		return domain.Invalid("dimensions", "is %d, but vectors from the model %s have %d dimensions and cannot be shortened; leave the field out", *wanted, m.ID, m.Dimensions)
	}
	return nil
}

// shorten returns a vector's first n dimensions, scaled to unit length.
func shorten(vector []float32, n int) []float32 {
	if n >= len(vector) {
		return vector
	}
	vector = vector[:n]
	var squares float64
	for _, x := range vector {
		squares += float64(x) * float64(x)
	}
	if squares > 0 {
		scale := 1 / math.Sqrt(squares)
		for i, x := range vector {
			vector[i] = float32(float64(x) * scale)
		}
	}
	return vector
}

// embeddingItem is one vector in a response.
type embeddingItem struct {
	Object    string `json:"object"` // always "embedding"
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // numbers, or base64 of little-endian float32 values
}

// writeEmbeddings sends the response. It encodes one vector at a time, because the text for all of them would take
// several times as much memory as the vectors.
func (h *Handler) writeEmbeddings(c *gin.Context, model string, vectors [][]float32, inBase64 bool, tokens int) {
	c.Header("Content-Type", "application/json")
	c.Status(http.StatusOK)
	out := bufio.NewWriter(transfer.TimedWriter(c.Writer, h.WriteTimeout))
	defer out.Flush() // an error means that the client has disconnected
	_, _ = out.WriteString(`{"object":"list","data":[`)
	for i, vector := range vectors {
		item := embeddingItem{Object: "embedding", Index: i, Embedding: vector}
		if inBase64 {
			item.Embedding = encodeVector(vector)
		}
		encoded, err := json.Marshal(item)
		if err != nil { // cannot happen, because embedders return finite numbers
			panic(http.ErrAbortHandler)
		}
		if i > 0 {
			_ = out.WriteByte(',')
		}
		if _, err := out.Write(encoded); err != nil {
			return
		}
	}
	end, err := json.Marshal(struct {
		Model string         `json:"model"`
		Usage map[string]int `json:"usage"`
	}{model, map[string]int{"prompt_tokens": tokens, "total_tokens": tokens}})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = out.WriteString("],")
	_, _ = out.Write(end[1:]) // omit the opening brace, which has already been written
}

func encodeVector(vector []float32) string {
	raw := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
