package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheBuildTagsAreTheSameEverywhere makes sure that every build omits the same packages, so that the list of
// licences matches the compiled packages.
func TestTheBuildTagsAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	for file, line := range map[string]string{
		"Makefile":                            "TAGS := " + tags + "\n",
		"deployments/docker/Dockerfile":       " -tags " + tags + " ",
		"deployments/release/goreleaser.yaml": "tags: [" + strings.ReplaceAll(tags, ",", ", ") + "]\n",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), line) {
			t.Errorf("%s does not hold %q", file, line)
		}
	}
}
