package domain

import (
	"strings"
	"testing"
)

func TestSecretsOfTheOperatorAreRedacted(t *testing.T) {
	t.Parallel()
	key := KeyPrefix + strings.Repeat("0af9", 16)
	secrets := NewSecrets("correct horse battery", "short", "", "correct horse battery staple", "un mot: 密码密码密码")
	for text, want := range map[string]string{
		"Bearer correct horse battery, twice: correct horse battery.": "Bearer …, twice: ….",
		"correct horse battery staple":                                "…",
		"correct horse":                                               "correct horse",
		"short":                                                       "short",
		"un mot: 密码密码密码 and " + key:                                   "… and sk_…",
	} {
		if got := secrets.Redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestKeysAreRedacted(t *testing.T) {
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
		if got := (Secrets{}).Redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
