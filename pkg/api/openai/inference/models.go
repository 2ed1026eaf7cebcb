package inference

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/lists"
)

// Model describes a model in the list of models.
type Model struct {
	ID          string
	Description string
}

// List returns the chat models, the embedding models (the default first) and the reranker, if there is one.
func (h *Handler) List() []Model {
	models := make([]Model, 0, len(h.Chat)+len(h.Models)+1)
	for _, name := range h.Chat {
		models = append(models, Model{ID: name, Description: "chat model for POST /v1/responses"})
	}
	for _, id := range h.Models {
		m := Model{ID: id, Description: "embedding model"}
		if e, err := h.Embedders.Embedder(id); err == nil && e.Model().Dimensions > 0 {
			m.Description = fmt.Sprintf("embedding model with %d dimensions", e.Model().Dimensions)
		}
		models = append(models, m)
	}
	if h.Reranker != nil {
		models = append(models, Model{ID: h.Reranker.Model(), Description: "reranker"})
	}
	return models
}

// Find returns the model with this id or short name (see shortName), and whether it exists.
func (h *Handler) Find(name string) (Model, bool) {
	models := h.List()
	for _, matches := range []func(Model) bool{
		func(m Model) bool { return m.ID == name },
		func(m Model) bool { return shortName(m.ID) == name },
	} {
		if i := slices.IndexFunc(models, matches); i >= 0 {
			return models[i], true
		}
	}
	return Model{}, false
}

// shortName returns an embedding model's name as its publisher writes it, without the source and digest that Sluice
// adds: all-MiniLM-L6-v2 for local:all-MiniLM-L6-v2@8030773b089d, and text-embedding-3-small for
// openai:text-embedding-3-small. If models share a short name, it means the first of them.
func shortName(id string) string {
	source, name, found := strings.Cut(id, ":")
	if !found || source != "local" && source != "openai" {
		return id
	}
	if at := strings.LastIndexAny(name, "@+"); at > 0 {
		name = name[:at]
	}
	if at := strings.LastIndexByte(name, '@'); source == "openai" && at > 0 { // @dimensions, before the prefix's +digest
		name = name[:at]
	}
	return name
}

// embedder returns the embedding model with this id or short name, or the default model if the name is empty.
func (h *Handler) embedder(name string) (embed.Embedder, error) {
	ids := []string{cmp.Or(name, h.Models[0])}
	for _, id := range h.Models {
		if shortName(id) == name {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if slices.Contains(h.Models, id) {
			return h.Embedders.Embedder(id)
		}
	}
	return nil, unknownModel(name, h.Models)
}

// unknownModel returns the error for a name that matches no model.
func unknownModel(name string, known []string) error {
	const shown = 20
	names := lists.Map(known[:min(len(known), shown)], func(id string) string { return jsonbody.Describe(id) })
	why := fmt.Sprintf("this server has no model %s; send one of %s, or leave the field out to use the first", jsonbody.Describe(name), strings.Join(names, ", "))
	return &domain.Error{Code: domain.CodeNotFound, Message: why, Fields: []domain.FieldError{{Field: problem.ModelField, Message: why}}}
}
