package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// processes are the image build targets, and the binaries in the images.
var processes = []string{"api", "crawler", "ingestor"}

func checkDockerfile(_ context.Context, repo repository, f *faults) string {
	text, err := os.ReadFile(repo.path("deployments", "docker", "Dockerfile"))
	if err != nil {
		f.add("%v", err)
		return ""
	}
	stages := parseDockerfile(text, f)
	goVersion, err := readGoVersion(repo.path("go.mod"))
	if err != nil {
		f.add("%v", err)
	}
	f.require(bytes.Contains(text, []byte("ARG GO_VERSION="+goVersion)), "the image's Go is not that of go.mod, %s", goVersion)
	checkStages(stages, repo, f)
	return fmt.Sprintf("%d stages", len(stages))
}

// parseDockerfile parses the file with every lint rule enabled.
func parseDockerfile(text []byte, f *faults) []instructions.Stage {
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		f.add("%v", err)
		return nil
	}
	for _, warning := range parsed.Warnings {
		f.add("%s", warning.Short)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string, at []parser.Range) {
		line := 0
		if len(at) > 0 {
			line = at[0].Start.Line
		}
		f.add("line %d: %s (%s)", line, message, rule)
	}})
	stages, _, err := instructions.Parse(parsed.AST, lint)
	if err != nil {
		f.add("%v", err)
	}
	return stages
}

func checkStages(stages []instructions.Stage, repo repository, f *faults) {
	byName := map[string]*instructions.Stage{}
	for i := range stages {
		s := &stages[i]
		if base, isStage := byName[s.BaseName]; !isStage || base == nil {
			f.require(strings.Contains(s.BaseName, ":") && !strings.HasSuffix(s.BaseName, ":latest"), "stage %s: the base %s is not pinned by a tag", s.Name, s.BaseName)
		}
		byName[s.Name] = s
		for _, command := range s.Commands {
			checkCommand(s, command, repo, f)
		}
	}
	for _, process := range processes {
		s := byName[process]
		if s == nil {
			f.add("there is no target %s", process)
			continue
		}
		user, entrypoint := "", ""
		for at := s; at != nil; at = byName[at.BaseName] {
			for _, command := range at.Commands {
				switch c := command.(type) {
				case *instructions.UserCommand:
					if user == "" {
						user = c.User
					}
				case *instructions.EntrypointCommand:
					if entrypoint == "" && !c.PrependShell {
						entrypoint = strings.Join(c.CmdLine, " ")
					}
				}
			}
		}
		f.require(user != "" && strings.Trim(user, "0123456789:") == "" && !strings.HasPrefix(user, "0"), "target %s: USER %q is not the number of a user without rights", process, user)
		f.require(entrypoint == "/usr/local/bin/"+process, "target %s: the entry point is %q", process, entrypoint)
	}
	if len(stages) > 0 {
		f.require(stages[len(stages)-1].Name == "api", "a build without a target makes %s, not the api", stages[len(stages)-1].Name)
	}
}

// checkCommand checks that files copied from the build context exist and aren't excluded by the ignore file.
func checkCommand(s *instructions.Stage, command instructions.Command, repo repository, f *faults) {
	c, isCopy := command.(*instructions.CopyCommand)
	if _, isAdd := command.(*instructions.AddCommand); isAdd {
		f.add("stage %s: ADD fetches and unpacks; COPY says what it does", s.Name)
	}
	if !isCopy || c.From != "" {
		return
	}
	allowed, err := readAllowed(repo.path("deployments", "docker", "Dockerfile.dockerignore"))
	if err != nil {
		f.add("%v", err)
		return
	}
	for _, source := range c.SourcePaths {
		if _, err := os.Stat(repo.path(source)); err != nil {
			f.add("stage %s copies %s, which does not exist", s.Name, source)
		}
		f.require(allowed[filepath.Clean(source)], "stage %s copies %s, which Dockerfile.dockerignore keeps out", s.Name, source)
	}
}

// readAllowed returns the paths that an ignore file exempts. It returns an error unless everything else is ignored.
func readAllowed(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	allowed, all := map[string]bool{}, false
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		all = all || line == "*"
		if name, is := strings.CutPrefix(line, "!"); is {
			allowed[filepath.Clean(name)] = true
		}
	}
	if !all {
		return nil, fmt.Errorf("%s must ignore everything in its first line", path)
	}
	return allowed, lines.Err()
}

// readGoVersion returns the version from the go directive, such as 1.26.
func readGoVersion(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	_, rest, found := strings.Cut(string(text), "\ngo ")
	version, _, _ := strings.Cut(rest, "\n")
	parts := strings.SplitN(version, ".", 3)
	if !found || len(parts) < 2 {
		return "", fmt.Errorf("%s has no go directive", path)
	}
	return parts[0] + "." + parts[1] + ".", nil
}
