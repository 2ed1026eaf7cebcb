package domain

import (
	"strings"
	"testing"
)

func TestKeysAreTakenOutOfTexts(t *testing.T) {
	t.Parallel()
	key := KeyPrefix + strings.Repeat("0af9", 16)
	for text, want := range map[string]string{
		"":                                    "",
		"nothing of the kind":                 "nothing of the kind",
		key:                                   "sk_…",
		`no agent "` + key + `", try another`: `no agent "sk_…", try another`,
		key[:40] + "… " + key:                 "sk_…… sk_…",
		"task_0123 of sk_live":                "task_0123 of sk_live",
	} {
		if got := HideKeys(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
