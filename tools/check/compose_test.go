package main

import (
	"context"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

func TestAProjectThatBreaksARuleIsAFault(t *testing.T) {
	t.Parallel()
	repo := openTestRepository(t)
	env := map[string]string{}
	for _, name := range required {
		env[name] = composeSecret
	}
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		service string
		change  func(s *types.ServiceConfig)
		want    string
	}{
		"a port is open to everyone":            {"api", func(s *types.ServiceConfig) { s.Ports[0].HostIP = "" }, "everyone could reach it"},
		"an engine publishes a port":            {"nats", func(s *types.ServiceConfig) { s.Ports = []types.ServicePortConfig{{Published: "4222"}} }, "everyone could reach it"},
		"an engine is in the outer network":     {"nats", func(s *types.ServiceConfig) { s.Networks["outside"] = nil }, "not in the inner network alone"},
		"an image has no tag":                   {"nats", func(s *types.ServiceConfig) { s.Image = "nats" }, "not pinned by a tag"},
		"an engine has no health check":         {"milvus", func(s *types.ServiceConfig) { s.HealthCheck = nil }, "no health check"},
		"an engine keeps nothing":               {"postgres", func(s *types.ServiceConfig) { s.Volumes = nil }, "keeps nothing"},
		"a process runs as root":                {"api", func(s *types.ServiceConfig) { s.User = "" }, "runs as"},
		"a process can write everywhere":        {"api", func(s *types.ServiceConfig) { s.ReadOnly = false }, "can write its root"},
		"ingestors have a way out":              {"ingestor", func(s *types.ServiceConfig) { s.Networks["outside"] = nil }, "have a way out"},
		"a process keeps capabilities":          {"crawler", func(s *types.ServiceConfig) { s.CapDrop = nil }, "keeps capabilities"},
		"a worker holds the database's address": {"crawler", func(s *types.ServiceConfig) { s.Environment["DATABASE_URL"] = text("postgres://") }, "holds DATABASE_URL"},
		"a setting does not exist":              {"ingestor", func(s *types.ServiceConfig) { s.Environment["SLUICE_THREADS"] = text("2") }, "SLUICE_THREADS"},
		"a setting of models is left out":       {"api", func(s *types.ServiceConfig) { delete(s.Environment, "RERANK_URL") }, "does not get RERANK_URL"},
		"an ingestor lacks the api's model":     {"ingestor", func(s *types.ServiceConfig) { delete(s.Environment, "SLUICE_EMBED_DIR") }, "does not get SLUICE_EMBED_DIR"},
		"models can be written":                 {"ingestor", func(s *types.ServiceConfig) { s.Volumes[0].ReadOnly = false }, "can write /var/lib/sluice/models"},
		"documents do not fit into the memory":  {"ingestor", func(s *types.ServiceConfig) { s.MemLimit = 4 << 30 }, "may need 7GiB"},
		"scans depend on the machine":           {"ingestor", func(s *types.ServiceConfig) { delete(s.Environment, "SLUICE_OCR_CONCURRENCY") }, "depend on the machine's processors"},
		"the api does the workers' work":        {"api", func(s *types.ServiceConfig) { delete(s.Environment, "SLUICE_WORKERS") }, "does the workers' work"},
		"the browser has a way out":             {"browser", func(s *types.ServiceConfig) { s.Networks["outside"] = nil }, "not in its own network alone"},
		"the browser has the machine's network": {"browser", func(s *types.ServiceConfig) { s.NetworkMode = "host" }, "not in its own network alone"},
		"an engine is in the browser's network": {"nats", func(s *types.ServiceConfig) { s.Networks["browser"] = nil }, "in the browser's network"},
		"the browser may send UDP":              {"browser", func(s *types.ServiceConfig) { s.Command = s.Command[1:] }, "runs without --webrtc"},
		"the browser publishes a port":          {"browser", func(s *types.ServiceConfig) { s.Ports = []types.ServicePortConfig{{HostIP: "127.0.0.1"}} }, "publishes a port"},
		"the browser runs unasked":              {"browser", func(s *types.ServiceConfig) { s.Profiles = nil }, "runs unasked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			project, err := loadCompose(context.Background(), repo, composeSets[0], env)
			if err != nil {
				t.Fatal(err)
			}
			service := project.Services[c.service]
			c.change(&service)
			project.Services[c.service] = service
			var f faults
			checkProject(project, repo, &f)
			wantFault(t, f, c.want)
		})
	}
}
