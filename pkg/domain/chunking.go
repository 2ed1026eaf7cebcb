package domain

import "fmt"

// Chunking holds a datastore's chunk sizes. The zero value means the program's defaults, which may change between
// versions.
type Chunking struct {
	TargetTokens int `json:"target_tokens,omitempty"` // target size in tokens; 0 means the default
	MaxTokens    int `json:"max_tokens,omitempty"`    // maximum size in tokens; 0 means proportional to the target
}

// Defaults and limits for Chunking. The default target is small because, for the same amount of returned text, small
// chunks contain more of the answers.
const (
	DefaultChunkTokens    = 128
	DefaultMaxChunkTokens = 200
	MinChunkTokens        = 32
	MaxChunkTokens        = 2048
)

// API field names used in errors from Chunking.Check.
const (
	FieldTargetTokens = "chunking.targetTokens"
	FieldMaxTokens    = "chunking.maxTokens"
)

// Sizes returns both sizes, with the defaults filled in.
func (c Chunking) Sizes() (target, limit int) {
	target, limit = c.TargetTokens, c.MaxTokens
	if target <= 0 {
		target = DefaultChunkTokens
		if limit > 0 {
			target = min(target, limit)
		}
	}
	if limit <= 0 {
		limit = max(target, min(target*DefaultMaxChunkTokens/DefaultChunkTokens, MaxChunkTokens))
	}
	return target, limit
}

// Check returns an error for each size that is out of bounds, and one if the target exceeds the maximum. Errors use the
// API's field names.
func (c Chunking) Check() []FieldError {
	var faults []FieldError
	bound := func(field string, n int) {
		if n != 0 && (n < MinChunkTokens || n > MaxChunkTokens) {
			faults = append(faults, FieldError{Field: field, Message: fmt.Sprintf("is %d; it must be between %d and %d", n, MinChunkTokens, MaxChunkTokens)})
		}
	}
	bound(FieldTargetTokens, c.TargetTokens)
	bound(FieldMaxTokens, c.MaxTokens)
	if target, limit := c.Sizes(); len(faults) == 0 && limit < target {
		faults = append(faults, FieldError{Field: FieldMaxTokens,
			Message: fmt.Sprintf("is %d, which is less than %s (%d); set both", limit, FieldTargetTokens, target)})
	}
	return faults
}

// ChunkingPatch changes a datastore's Chunking. Nil fields are left unchanged.
type ChunkingPatch struct {
	TargetTokens *int
	MaxTokens    *int
}

// Apply returns c with the patch applied.
func (p ChunkingPatch) Apply(c Chunking) Chunking {
	assignIf(&c.TargetTokens, p.TargetTokens)
	assignIf(&c.MaxTokens, p.MaxTokens)
	return c
}
