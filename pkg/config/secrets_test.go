package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/config"
)

// TestEverySecretSettingIsAmongTheSecrets sets every setting marked as secret, so that new ones are covered
// automatically.
func TestEverySecretSettingIsAmongTheSecrets(t *testing.T) {
	t.Parallel()
	environ := []string{"SLUICE_NATS_LISTEN=127.0.0.1:4222", "RERANK_URL=http://127.0.0.1:1", "RERANK_MODEL=m"}
	var want []string
	for i, s := range config.Settings() {
		if !s.Secret {
			continue
		}
		secret := fmt.Sprintf("a-secret-of-some-length-that-is-enough-for-all-%d", i)
		want = append(want, secret)
		value := secret
		switch {
		case s.Env == "SLUICE_CRAWL_PROXY", s.Env == "NATS_MONITOR_URL":
			value = "http://one:" + secret + "@127.0.0.1:1"
		case strings.HasSuffix(s.Env, "_URL"):
			value = "nats://one:" + secret + "@127.0.0.1:1/x"
		}
		environ = append(environ, s.Env+"="+value)
	}
	c, err := config.Parse(nil, environ)
	if err != nil && c.APIKey == "" {
		t.Fatal(err)
	}
	got := c.Secrets()
	for _, secret := range want {
		if !slices.Contains(got, secret) {
			t.Errorf("%q is not among %q", secret, got)
		}
	}
}

func TestSecretsOfAddresses(t *testing.T) {
	t.Parallel()
	c := config.Config{
		NATSURL:     "nats://token@a:4222, tls://user:pass%2Fword@b:4222,nats://c",
		DatabaseURL: "postgres://name-of-a-user@host/db?password=p1", ChromeURL: "http://chromium:9222?token=t1",
	}
	want := []string{"p1", "pass/word", "t1", "token"}
	if got := c.Secrets(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (config.Config{DatabaseURL: "postgres://u:%zz@host"}).Secrets(); !slices.Equal(got, []string{"postgres://u:%zz@host"}) {
		t.Errorf("got %q of an address that cannot be read", got)
	}
}
