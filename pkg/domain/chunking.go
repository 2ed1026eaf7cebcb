package domain

import "fmt"

// Chunking is how large the chunks of a datastore's documents are. The zero value takes the defaults of the program, which
// may change with its version.
type Chunking struct {
	TargetTokens int `json:"target_tokens,omitempty"` // chunks are filled up to this many tokens; 0: the default
	MaxTokens    int `json:"max_tokens,omitempty"`    // no chunk holds more; 0: in proportion to the target
}

// Defaults and bounds of Chunking. Within the same amount of returned text, chunks of the default cover more of the answers
// than larger ones do.
const (
	DefaultChunkTokens    = 128
	DefaultMaxChunkTokens = 200
	LeastChunkTokens      = 32
	MostChunkTokens       = 2048
)

// Fields of the API that a fault of Chunking names.
const (
	FieldTargetTokens = "chunking.targetTokens"
	FieldMaxTokens    = "chunking.maxTokens"
)

// Sizes are both sizes with the defaults filled in.
func (c Chunking) Sizes() (target, most int) {
	target, most = c.TargetTokens, c.MaxTokens
	if target <= 0 {
		target = DefaultChunkTokens
		if most > 0 {
			target = min(target, most)
		}
	}
	if most <= 0 {
		most = max(target, min(target*DefaultMaxChunkTokens/DefaultChunkTokens, MostChunkTokens))
	}
	return target, most
}

// Check fails when a size is out of bounds, or when chunks would have to hold more than they may. Its fields are those of
// the API.
func (c Chunking) Check() []FieldError {
	var faults []FieldError
	bound := func(field string, n int) {
		if n != 0 && (n < LeastChunkTokens || n > MostChunkTokens) {
			faults = append(faults, FieldError{Field: field, Message: fmt.Sprintf("is %d; it must be from %d to %d", n, LeastChunkTokens, MostChunkTokens)})
		}
	}
	bound(FieldTargetTokens, c.TargetTokens)
	bound(FieldMaxTokens, c.MaxTokens)
	if target, most := c.Sizes(); len(faults) == 0 && most < target {
		faults = append(faults, FieldError{Field: FieldMaxTokens,
			Message: fmt.Sprintf("is %d, less than the %d of %s; send both", most, target, FieldTargetTokens)})
	}
	return faults
}

// ChunkingPatch changes a datastore's Chunking: nil leaves a size as it is.
type ChunkingPatch struct {
	TargetTokens *int
	MaxTokens    *int
}

// Apply returns the sizes as the patch wants them.
func (p ChunkingPatch) Apply(c Chunking) Chunking {
	set(&c.TargetTokens, p.TargetTokens)
	set(&c.MaxTokens, p.MaxTokens)
	return c
}
