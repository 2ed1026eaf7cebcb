package api

import (
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/openai/inference"
	"github.com/sluice/sluice/pkg/domain"
)

// UndescribedEndpoints lists the endpoints that aren't in the OpenAPI document. They belong to an incomplete server, so
// tests can't call them.
func UndescribedEndpoints() []openai.Endpoint {
	s := &server{options: Options{Engines: []domain.Engine{""}, EmbeddingModels: []string{""}}, inference: inference.New(inference.Deps{})}
	return s.openAIEndpoints()
}
