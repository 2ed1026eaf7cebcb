package main

import (
	"os"
	"strings"
	"testing"
)

func TestADockerfileThatBreaksARuleIsAFault(t *testing.T) {
	t.Parallel()
	repo := openTestRepository(t)
	text, err := os.ReadFile(repo.path("deployments", "docker", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"what it copies does not exist":       {"COPY cmd cmd", "COPY command cmd", "copies command, which does not exist"},
		"what it copies is kept out":          {"COPY cmd cmd", "COPY testdata testdata", "keeps out"},
		"a base has no tag":                   {"static-debian12:nonroot", "static-debian12", "not pinned by a tag"},
		"the user is root":                    {"USER 65532:65532", "USER 0", "not the number of a user without rights"},
		"the user is a name":                  {"USER 65532:65532", "USER nonroot", "not the number of a user without rights"},
		"a target is missing":                 {"FROM runtime AS crawler", "FROM runtime AS spider", "there is no target crawler"},
		"the binary is another one":           {`ENTRYPOINT ["/usr/local/bin/crawler"]`, `ENTRYPOINT ["/usr/local/bin/api"]`, "the entry point is"},
		"the entry point needs a shell":       {`ENTRYPOINT ["/usr/local/bin/crawler"]`, `ENTRYPOINT /usr/local/bin/crawler`, "the entry point is"},
		"an instruction does not exist":       {"WORKDIR /src", "WORKDIRECTORY /src", "unknown instruction"},
		"another target is made without name": {"FROM runtime AS api", "FROM runtime AS other", "not the api"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(string(text), c.old) {
				t.Fatalf("the Dockerfile does not say %q", c.old)
			}
			var f faults
			stages := parseDockerfile([]byte(strings.Replace(string(text), c.old, c.new, 1)), &f)
			checkStages(stages, repo, &f)
			wantFault(t, f, c.want)
		})
	}
}
