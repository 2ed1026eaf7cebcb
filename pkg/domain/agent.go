package domain

import (
	"encoding/json"
	"maps"
	"time"
)

// Visibility says who may query an agent or datastore without a key.
type Visibility string

// The visibilities. A public resource may be queried without a key; nothing else is open.
const (
	Public  Visibility = "public"
	Private Visibility = "private"
)

// PromptType is the deprecated way of choosing a prompt.
type PromptType string

// The prompt types: raw sends promptTemplate as it is, customer_support wraps it in support instructions.
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
	PromptType     PromptType // deprecated; "" when never set
	PromptTemplate string     // deprecated
	DatastoreIDs   []string
	AllowedOrigins []string // of web pages on which it may be asked without a key, when it is public; as ParseOrigin returns them
	Extra          AgentExtra
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// AgentExtra holds the unknown fields of an agent, unchanged: clients of other services store settings in them.
type AgentExtra map[string]json.RawMessage

// MaxAgentExtraBytes bounds the extra fields of an agent, as JSON.
const MaxAgentExtraBytes = 16 << 10

// Check returns a fault if the fields exceed MaxAgentExtraBytes.
func (e AgentExtra) Check() error {
	n := 0
	for name, v := range e {
		n += len(name) + len(v) + len(`"":,`)
	}
	if n > MaxAgentExtraBytes {
		return Invalid("body", "has %d bytes of fields that are not known, with those that the agent has already; the limit is %d KiB. Leave some out, or set some that the agent has to null",
			n, MaxAgentExtraBytes>>10)
	}
	return nil
}

// ModelNames are the interface's model names, in its order.
var ModelNames = []string{"llm_3_5_turbo", "llm_3_5_turbo_16k", "llm_4", "llm_4_32k"}

// DefaultModelName is what an agent gets that names no model.
const DefaultModelName = "llm_3_5_turbo"

// AgentPatch changes an agent: nil leaves a field as it is.
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
	Extra          *AgentExtra // replaces the fields with the same names; others stay
}

// Apply sets the fields that the patch carries.
func (p AgentPatch) Apply(a *Agent) {
	set(&a.Name, p.Name)
	set(&a.Description, p.Description)
	set(&a.ModelName, p.ModelName)
	set(&a.Temperature, p.Temperature)
	set(&a.Visibility, p.Visibility)
	set(&a.SystemPrompt, p.SystemPrompt)
	set(&a.UserPrompt, p.UserPrompt)
	set(&a.PromptType, p.PromptType)
	set(&a.PromptTemplate, p.PromptTemplate)
	set(&a.DatastoreIDs, p.DatastoreIDs)
	set(&a.AllowedOrigins, p.AllowedOrigins)
	if p.Extra != nil {
		all := maps.Clone(a.Extra)
		if all == nil {
			all = AgentExtra{}
		}
		maps.Copy(all, *p.Extra)
		a.Extra = all
	}
}

func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}
