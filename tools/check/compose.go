package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/types"
)

// composeSets lists the documented combinations of compose files.
var composeSets = [][]string{{"compose.yaml"}, {"compose.yaml", "compose.cluster.yaml"}}

// required lists the secrets without which no service may start.
var required = []string{"SLUICE_API_KEY", "POSTGRES_PASSWORD", "SLUICE_NATS_TOKEN", "MILVUS_PASSWORD"}

const composeSecret = "0123456789abcdef-secret"

func checkCompose(ctx context.Context, repo repository, f *faults) string {
	example, err := dotenv.Read(repo.path("deployments", "compose", ".env.example"))
	if err != nil {
		f.add(".env.example: %v", err)
		return ""
	}
	env := map[string]string{}
	for name, value := range example {
		env[name] = value
		f.require(value == "" || !isSecret(name), ".env.example has a value for %s, which people would keep", name)
	}
	for _, name := range required {
		if _, listed := example[name]; !listed {
			f.add(".env.example does not name %s", name)
		}
		env[name] = composeSecret
	}
	services := 0
	for _, files := range composeSets {
		project, err := loadCompose(ctx, repo, files, env)
		if err != nil {
			f.add("%s: %v", strings.Join(files, " + "), err)
			continue
		}
		services += len(project.Services)
		checkProject(project, repo, f)
		for _, missing := range required {
			without := map[string]string{}
			for name, value := range env {
				if name != missing {
					without[name] = value
				}
			}
			_, err := loadCompose(ctx, repo, files, without)
			f.require(err != nil && strings.Contains(err.Error(), missing), "%s starts without %s", files[0], missing)
		}
	}
	return fmt.Sprintf("%d combinations of files, %d services", len(composeSets), services)
}

func loadCompose(ctx context.Context, repo repository, files []string, env map[string]string) (*types.Project, error) {
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i] = repo.path("deployments", "compose", file)
	}
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	options, err := cli.NewProjectOptions(paths, cli.WithEnv(list), cli.WithInterpolation(true),
		cli.WithResolvedPaths(true), cli.WithProfiles([]string{"*"}))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(ctx)
}

func checkProject(project *types.Project, repo repository, f *faults) {
	for name, network := range project.Networks {
		f.require(network.Internal == (name != "outside"), "network %s: internal is %t", name, network.Internal)
	}
	ours := map[string]bool{}
	for _, process := range processes {
		ours[process] = true
	}
	names := project.ServiceNames()
	sort.Strings(names)
	for _, name := range names {
		service := project.Services[name]
		for _, port := range service.Ports {
			f.require(port.HostIP == "127.0.0.1", "service %s publishes port %s on %q: everyone could reach it", name, port.Published, port.HostIP)
		}
		f.require(service.Restart != "", "service %s does not come back", name)
		f.require(!service.Privileged, "service %s is privileged", name)
		f.require(contains(service.SecurityOpt, "no-new-privileges:true"), "service %s may gain rights", name)
		for _, config := range service.Configs {
			if file := project.Configs[config.Source].File; file != "" {
				_, err := os.Stat(file)
				f.require(err == nil, "service %s: the configuration %s does not exist", name, file)
			}
		}
		if ours[name] {
			checkProcess(service, repo, f)
			continue
		}
		if name == "browser" {
			checkBrowser(service, project, f)
		} else {
			_, internal := service.Networks["engines"]
			f.require(internal && len(service.Networks) == 1, "service %s is not in the inner network alone", name)
			f.require(len(service.Volumes) > 0, "service %s keeps nothing", name)
		}
		tag := strings.LastIndex(service.Image, ":")
		f.require(tag > 0 && !strings.HasSuffix(service.Image, ":latest"), "service %s: the image %s is not pinned by a tag", name, service.Image)
		f.require(service.HealthCheck != nil && len(service.HealthCheck.Test) > 0, "service %s has no health check", name)
	}
	for process := range ours {
		_, is := project.Services[process]
		f.require(is, "there is no service %s", process)
	}
	if ingestor, is := project.Services["ingestor"]; is {
		f.require(ingestor.GetScale() == 2, "%d ingestors, want 2", ingestor.GetScale())
		_, out := ingestor.Networks["outside"]
		f.require(!out, "ingestors, who read what strangers wrote, have a way out")
	}
}

// udpPolicy is the Chromium flag that keeps WebRTC in web pages from bypassing the proxy with UDP packets.
const udpPolicy = "--webrtc-ip-handling-policy=disable_non_proxied_udp"

// checkBrowser checks the service that runs untrusted scripts. It must have no privileges and share a network only with
// the crawler.
func checkBrowser(service types.ServiceConfig, project *types.Project, f *faults) {
	f.require(service.ReadOnly, "the browser can write its root file system")
	f.require(contains(service.CapDrop, "ALL"), "the browser keeps capabilities")
	f.require(service.User == "65532:65532", "the browser runs as %q", service.User)
	f.require(service.MemLimit > 0 && service.PidsLimit > 0, "the browser may take all memory or processes")
	f.require(len(service.Volumes) == 0, "the browser keeps something")
	f.require(len(service.Ports) == 0, "the browser publishes a port: whoever reaches DevTools has the browser")
	f.require(contains(service.Command, udpPolicy), "the browser runs without %s", udpPolicy)
	f.require(len(service.Profiles) > 0, "the browser runs unasked")
	_, own := service.Networks["browser"]
	f.require(own && len(service.Networks) == 1 && service.NetworkMode == "", "the browser is not in its own network alone")
	for name, other := range project.Services {
		_, in := other.Networks["browser"]
		f.require(!in || name == "browser" || name == "crawler", "service %s is in the browser's network", name)
	}
}

// checkProcess checks a service that runs one of Sluice's processes.
func checkProcess(service types.ServiceConfig, repo repository, f *faults) {
	where := "service " + service.Name
	f.require(service.ReadOnly, "%s can write its root file system", where)
	f.require(contains(service.CapDrop, "ALL"), "%s keeps capabilities", where)
	f.require(service.User == "65532:65532", "%s runs as %q", where, service.User)
	f.require(service.MemLimit > 0, "%s may take all memory", where)
	f.require(len(service.Tmpfs) > 0 && strings.HasPrefix(service.Tmpfs[0], "/tmp:"), "%s has no /tmp to write to", where)
	f.require(service.Build != nil && service.Build.Target == service.Name, "%s is not built from its target", where)
	environment := map[string]string{}
	for name, value := range service.Environment {
		repo.settings.check(f, where, name)
		if value != nil {
			environment[name] = *value
		}
	}
	f.require(environment["NATS_URL"] != "", "%s has no NATS_URL", where)
	for name := range repo.settings {
		_, isSet := service.Environment[name]
		needs := isOffered(name) && service.Name != "crawler" && (service.Name == "api" || !isQuerySetting(name))
		f.require(isSet || !needs, "%s does not get %s, and .env could not set it", where, name)
	}
	for _, volume := range service.Volumes {
		f.require(volume.ReadOnly || volume.Target == "/var/lib/sluice", "%s can write %s", where, volume.Target)
	}
	if service.Name == "api" {
		f.require(environment["SLUICE_WORKERS"] == "false", "%s does the workers' work too", where)
		f.require(environment["DATABASE_URL"] != "", "%s has no DATABASE_URL", where)
		checkDrawMemory(f, where, int64(service.MemLimit)-tmpfsBytes(service.Tmpfs))
		return
	}
	for _, secret := range databaseSecrets {
		f.require(environment[secret] == "", "%s holds %s, which workers must not", where, secret)
	}
	if service.Name == "ingestor" {
		checkExtractMemory(f, where, environment, int64(service.MemLimit)-tmpfsBytes(service.Tmpfs))
	}
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}
