package domain

import "time"

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
	CreatedAt      time.Time
	UpdatedAt      time.Time
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
}

func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}
