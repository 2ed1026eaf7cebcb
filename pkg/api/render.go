package api

import (
	"cmp"
	"encoding/json"
	"time"

	openapi_types "github.com/oapi-codegen/runtime/types"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/evidence"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// This file converts domain values to the OpenAPI document's types.

func renderAgent(a domain.Agent) Agent {
	out := Agent{
		Id: a.ID, Name: a.Name, Description: a.Description,
		ModelName: ModelName(a.ModelName), Temperature: a.Temperature, Visibility: Visibility(a.Visibility),
		SystemPrompt: a.SystemPrompt, UserPrompt: a.UserPrompt, PromptTemplate: a.PromptTemplate,
		DatastoreIds:   append([]string{}, a.DatastoreIDs...),
		Tools:          make([]AgentTool, len(a.DatastoreIDs)),
		AllowedOrigins: append([]string{}, a.AllowedOrigins...),
		CreatedAt:      a.CreatedAt.UTC(), UpdatedAt: a.UpdatedAt.UTC(),
		RestrictKnowledge: a.RestrictsKnowledge(), QueryPlanning: a.PlansQueries(),
		UnsupportedSentences: UnsupportedSentences(a.UnsupportedMode()),
		PromptType:           PromptType(cmp.Or(a.PromptType, domain.PromptRaw)), // an empty type means raw
	}
	if len(a.Extra) > 0 {
		out.AdditionalProperties = make(map[string]any, len(a.Extra))
		for name, v := range a.Extra {
			out.AdditionalProperties[name] = v
		}
		delete(out.AdditionalProperties, domain.RestrictKnowledge)
		delete(out.AdditionalProperties, domain.QueryPlanning)
		delete(out.AdditionalProperties, domain.UnsupportedSentences)
	}
	for i, id := range a.DatastoreIDs {
		out.Tools[i] = AgentTool{Type: AgentToolTypeDatastore, DatastoreId: id}
	}
	return out
}

func renderDatastore(d domain.Datastore) Datastore {
	return Datastore{
		Id: d.ID, Name: d.Name, Description: d.Description, Type: Engine(d.Type), Visibility: Visibility(d.Visibility),
		EmbeddingModel: d.EmbeddingModel, Chunking: renderChunking(d.Chunking), OcrLanguages: append([]string{}, d.OCRLanguages.Names()...), CreatedAt: d.CreatedAt.UTC(), UpdatedAt: d.UpdatedAt.UTC(),
	}
}

func renderChunking(c domain.Chunking) Chunking {
	target, limit := c.Sizes()
	return Chunking{TargetTokens: target, MaxTokens: limit}
}

func renderMove(m domain.Move, p domain.MoveProgress) *DatastoreMove {
	out := &DatastoreMove{
		Type: Engine(m.To.Engine), EmbeddingModel: m.To.Model, Status: DatastoreMoveStatusRebuilding,
		Done: p.Done, Total: p.Total, Failed: p.Failed, Error: optional(p.Cause), StartedAt: m.StartedAt.UTC(),
	}
	if p.Failed > 0 && p.Done+p.Failed == p.Total {
		out.Status = DatastoreMoveStatusHeld
	}
	return out
}

func renderDatasource(d domain.Datasource) Datasource {
	out := Datasource{
		Id: d.ID, DatastoreId: d.DatastoreID, Type: DatasourceType(d.Type), Name: d.Name,
		Status: DatasourceStatus(d.Status), GroupId: d.GroupID, CustomId: optional(d.CustomID),
		Config: renderConfig(d), Metadata: object(d.Metadata), Progress: renderProgress(d.Progress),
		Error: optional(d.Error), Warnings: append([]string{}, d.Warnings...), Chunks: d.Chunks, TextBytes: d.TextBytes, Outdated: d.IsOutdated(),
		CreatedAt: day(d.CreatedAt), UpdatedAt: day(d.UpdatedAt),
	}
	if d.LastSynch != nil {
		last := day(*d.LastSynch)
		out.LastSynch = &last
	}
	return out
}

// renderConfig returns a datasource's settings and the results of its last fetch, except ETag and Last-Modified. For a
// protected site, it includes header names but no values.
func renderConfig(d domain.Datasource) map[string]any {
	config := d.Config
	config.ETag, config.LastModified, config.Depth, config.Access = "", "", 0, nil
	config.CustomID = cmp.Or(config.CustomID, d.CustomID)
	out := map[string]any{}
	if encoded, err := json.Marshal(config); err == nil { // cannot fail, because all fields are plain values
		_ = json.Unmarshal(encoded, &out)
	}
	if a := d.Config.Access; a != nil {
		out["header_names"] = a.Names
	}
	return out
}

func renderProgress(p domain.Progress) Progress {
	return Progress{Stage: p.Stage, Done: p.Done, Total: p.Total}
}

func renderEvent(d domain.Datasource) DatasourceEvent {
	return DatasourceEvent{
		Id: d.ID, DatastoreId: d.DatastoreID, Type: DatasourceType(d.Type), Name: d.Name, GroupId: d.GroupID,
		Status: DatasourceStatus(d.Status), Progress: renderProgress(d.Progress), Error: optional(d.Error), Chunks: d.Chunks,
	}
}

func renderFragment(f domain.Fragment) Fragment {
	return Fragment{
		Text: f.Text, Score: f.Score, Source: f.Source, DatasourceId: f.DatasourceID, DatasourceName: f.DatasourceName,
		ChunkId: f.ChunkID, CustomId: optional(f.CustomID), Page: optional(f.Page), Heading: optional(f.Heading),
		Offset: f.Offset, MimeType: optional(f.MIMEType), Metadata: object(f.Metadata), Rectangles: renderRectangles(f.Rectangles),
		Highlights: renderHighlights(f),
	}
}

// renderHighlights returns nil if no highlights were requested.
func renderHighlights(f domain.Fragment) *[]Highlight {
	if f.Highlights == nil {
		return nil
	}
	return new(evidence.Highlights(f))
}

// renderRectangles returns nil if `all` is nil, meaning that no rectangles were requested. An empty list means that
// none were found.
func renderRectangles(all []domain.PageRectangle) *[]PageRectangle {
	if all == nil {
		return nil
	}
	return new(evidence.Rectangles(all))
}

func renderSources(fragments []domain.Fragment) []Source {
	out := make([]Source, len(fragments))
	for i, fragment := range fragments {
		f := renderFragment(fragment)
		out[i] = Source{
			Text: f.Text, Score: f.Score, Source: f.Source, DatasourceId: f.DatasourceId, DatasourceName: f.DatasourceName,
			ChunkId: f.ChunkId, CustomId: f.CustomId, Page: f.Page, Heading: f.Heading, Offset: f.Offset,
			MimeType: f.MimeType, Metadata: f.Metadata, Citation: fragment.Citation, Highlights: evidence.Highlights(fragment),
		}
	}
	return out
}

func renderAnswer(a answer.Answer, text string) AgentAnswer {
	return AgentAnswer{
		Answer: text, ConversationId: a.ConversationID, VisitorId: a.VisitorID, Sources: renderSources(a.Sources),
		Sentences: evidence.Sentences(text, a.Sources, a.Sentences), Grounded: len(a.Sources) > 0, Explanation: renderExplanation(a.Explanation, true),
	}
}

func renderConversation(v domain.Conversation) Conversation {
	return Conversation{
		Id: v.PublicID(), AgentId: v.AgentID, VisitorId: v.VisitorID, Title: v.Title,
		CreatedAt: v.CreatedAt.UTC(), UpdatedAt: v.UpdatedAt.UTC(),
	}
}

func renderDetail(v domain.Conversation, messages []domain.Message) ConversationDetail {
	c := renderConversation(v)
	return ConversationDetail{
		Id: c.Id, AgentId: c.AgentId, VisitorId: c.VisitorId, Title: c.Title, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
		Messages: lists.Map(messages, renderMessage),
	}
}

func renderMessage(m domain.Message) Message {
	return Message{
		Id: m.ID, Role: MessageRole(m.Role), Text: m.Text, Sources: renderSources(m.Sources),
		Sentences: evidence.Sentences(m.Text, m.Sources, m.Sentences), CreatedAt: m.CreatedAt.UTC(),
	}
}

func renderKey(k domain.APIKey) Key {
	return Key{
		Id: k.ID, Name: k.Name, Hint: k.Hint, Scopes: lists.Map(k.Scopes, func(v domain.Scope) Scope { return Scope(v) }), AgentId: optional(k.AgentID),
		CreatedAt: k.CreatedAt.UTC(), LastUsedAt: utc(k.LastUsedAt), ExpiresAt: utc(k.ExpiresAt),
		Limits: renderKeyLimits(k.Limits),
	}
}

// optional returns nil for the zero value, so that the field is null. Use it only for fields that Chaindesk's API
// doesn't have. In that API, an empty string is "" and an empty date is absent.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// object returns m, or an empty map for nil, so that the field is never null.
func object(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func day(t time.Time) openapi_types.Date { return openapi_types.Date{Time: t.UTC()} }

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
