package domain

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"time"
)

// Visibility determines whether an agent or datastore can be queried without a key.
type Visibility string

// Values of Visibility. Callers without a key can query only public resources.
const (
	Public  Visibility = "public"
	Private Visibility = "private"
)

// PromptType selects how an agent uses its PromptTemplate. It is deprecated.
type PromptType string

// Prompt types. raw sends promptTemplate unchanged; customer_support wraps it in support instructions.
const (
	PromptRaw             PromptType = "raw"
	PromptCustomerSupport PromptType = "customer_support"
)

// Agent answers questions from datastores.
type Agent struct {
	ID             string
	WorkspaceID    string
	Name           string
	Description    string
	ModelName      string  // one of ModelNames
	Temperature    float64 // 0.0 to 1.0
	Visibility     Visibility
	SystemPrompt   string
	UserPrompt     string
	PromptType     PromptType // deprecated; "" if never set
	PromptTemplate string     // deprecated
	DatastoreIDs   []string
	AllowedOrigins []string // origins, as returned by ParseOrigin, of web pages that may query a public agent without a key
	Extra          AgentExtra
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// AgentExtra holds extra agent fields, which are stored as they are. Clients written for other services keep their
// settings there.
type AgentExtra map[string]json.RawMessage

// RestrictKnowledge is the name of the field that restricts an agent to its documents. The field is in Agent.Extra,
// where clients written for other services put it.
const RestrictKnowledge = "restrictKnowledge"

// RestrictsKnowledge reports whether the agent answers only from its documents. If they contain nothing about a
// message, it declines to answer without calling a model.
func (a Agent) RestrictsKnowledge() bool {
	return string(bytes.TrimSpace(a.Extra[RestrictKnowledge])) == "true"
}

// QueryPlanning is the name of the field that says whether a model may plan an agent's searches. Like
// RestrictKnowledge, the field is in Agent.Extra.
const QueryPlanning = "queryPlanning"

// PlansQueries reports whether a model may split a question that a single search does not answer. The default is true.
func (a Agent) PlansQueries() bool {
	return string(bytes.TrimSpace(a.Extra[QueryPlanning])) != "false"
}

// MaxAgentExtraBytes is the maximum size of an agent's extra fields, in bytes of JSON.
const MaxAgentExtraBytes = 16 << 10

// Check returns an error if the fields exceed MaxAgentExtraBytes.
func (e AgentExtra) Check() error {
	n := 0
	for name, v := range e {
		n += len(name) + len(v) + len(`"":,`)
	}
	if n > MaxAgentExtraBytes {
		return Invalid("body", "has %d bytes of unknown fields, including those already stored with the agent; the limit is %d KiB. Leave some out, or set stored fields to null to remove them",
			n, MaxAgentExtraBytes>>10)
	}
	return nil
}

// ModelNames lists the model names the API accepts.
var ModelNames = []string{"llm_3_5_turbo", "llm_3_5_turbo_16k", "llm_4", "llm_4_32k"}

// DefaultModelName is the model used if an agent specifies none.
const DefaultModelName = "llm_3_5_turbo"

// AgentPatch changes an agent. Nil fields are left unchanged.
type AgentPatch struct {
	Name           *string
	Description    *string
	ModelName      *string
	Temperature    *float64
	Visibility     *Visibility
	SystemPrompt   *string
	UserPrompt     *string
	PromptType     *PromptType
	PromptTemplate *string
	DatastoreIDs   *[]string
	AllowedOrigins *[]string
	Extra          *AgentExtra // replaces extra fields with the same name and keeps all others
}

// Apply applies the patch to a.
func (p AgentPatch) Apply(a *Agent) {
	assignIf(&a.Name, p.Name)
	assignIf(&a.Description, p.Description)
	assignIf(&a.ModelName, p.ModelName)
	assignIf(&a.Temperature, p.Temperature)
	assignIf(&a.Visibility, p.Visibility)
	assignIf(&a.SystemPrompt, p.SystemPrompt)
	assignIf(&a.UserPrompt, p.UserPrompt)
	assignIf(&a.PromptType, p.PromptType)
	assignIf(&a.PromptTemplate, p.PromptTemplate)
	assignIf(&a.DatastoreIDs, p.DatastoreIDs)
	assignIf(&a.AllowedOrigins, p.AllowedOrigins)
	if p.Extra != nil {
		all := maps.Clone(a.Extra)
		if all == nil {
			all = AgentExtra{}
		}
		maps.Copy(all, *p.Extra)
		a.Extra = all
	}
}

func assignIf[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

// Placeholders in system prompts, user prompts and templates. Every occurrence is replaced, except within inserted
// text.
const (
	PlaceholderQuery   = "{query}"
	PlaceholderContext = "{context}"
	PlaceholderHistory = "{history}"
)

// MaxPlaceholders is the maximum number of placeholders in a prompt. Without a limit, a short prompt could insert the
// documents thousands of times.
const MaxPlaceholders = 20

// Placeholders returns the number of placeholders in a prompt.
func Placeholders(prompt string) int {
	return strings.Count(prompt, PlaceholderQuery) + strings.Count(prompt, PlaceholderContext) + strings.Count(prompt, PlaceholderHistory)
}
