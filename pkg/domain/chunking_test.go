package domain

import "testing"

func TestChunkingSizes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		chunking     Chunking
		target, most int
		fault        string // name of the invalid field
	}{
		"defaults":                            {Chunking{}, 128, 200, ""},
		"the most follows the target":         {Chunking{TargetTokens: 256}, 256, 400, ""},
		"the most stays within its bound":     {Chunking{TargetTokens: 2048}, 2048, 2048, ""},
		"the target stays within the most":    {Chunking{MaxTokens: 64}, 64, 64, ""},
		"both":                                {Chunking{TargetTokens: 32, MaxTokens: 2048}, 32, 2048, ""},
		"a target below its bound":            {Chunking{TargetTokens: 31}, 31, 48, FieldTargetTokens},
		"a negative target":                   {Chunking{TargetTokens: -1}, 128, 200, FieldTargetTokens},
		"a most above its bound":              {Chunking{MaxTokens: 2049}, 128, 2049, FieldMaxTokens},
		"a most that is less than the target": {Chunking{TargetTokens: 100, MaxTokens: 99}, 100, 99, FieldMaxTokens},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if target, limit := test.chunking.Sizes(); target != test.target || limit != test.most {
				t.Errorf("sizes are %d and %d, want %d and %d", target, limit, test.target, test.most)
			}
			fault := ""
			if faults := test.chunking.Check(); len(faults) > 0 {
				fault = faults[0].Field
			}
			if fault != test.fault {
				t.Errorf("the fault is of %q, want %q", fault, test.fault)
			}
		})
	}
}
