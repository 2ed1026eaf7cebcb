package client_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// block returns the only code block in a language under a heading in the client documentation.
func block(t *testing.T, heading, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/clients.md")
	must(t, err)
	_, section, found := strings.Cut(string(page), "\n### "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n### ")
	_, code, opened := strings.Cut(section, "\n```"+language+"\n")
	code, _, closed := strings.Cut(code, "\n```\n")
	if !found || !opened || !closed {
		t.Fatalf("docs/clients.md has no %s under %s", language, heading)
	}
	return code
}

func TestTheExamplesOfTheDocumentationRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command []string
		says    []string
	}{
		"curl":      {[]string{"bash", "-euo", "pipefail", "-c", block(t, "curl", "sh")}, []string{`"status":"unsynched"`, "7 years", "event: answer", "data: [DONE]"}},
		"client.py": {[]string{"python3", "docs/examples/client.py"}, []string{"Warranty: The warranty", "thirty months", "[1] Warranty"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "curl" {
				if _, err := exec.LookPath("curl"); err != nil {
					t.Skip("this machine has no curl")
				}
			}
			cmd := exec.CommandContext(t.Context(), test.command[0], test.command[1:]...)
			cmd.Dir = "../.."
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range test.says {
				if !strings.Contains(string(out), want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}
