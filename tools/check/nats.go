package main

import (
	"context"
	"fmt"
	"os"
	"regexp"

	"github.com/nats-io/nats-server/v2/server"
)

// checkNATS parses the NATS configurations with the variables from the compose files. The token starts with digits, so
// the check also detects a configuration that fails to quote it and would therefore parse it as a number.
func checkNATS(_ context.Context, repo repository, f *faults) string {
	const token = "12e4567890abcdef"
	for name, value := range map[string]string{
		"NATS_TOKEN":  `"` + token + `"`,
		"NATS_NAME":   "nats-2",
		"NATS_ROUTES": `["nats://cluster:` + token + `@nats:6222", "nats://cluster:` + token + `@nats-2:6222"]`,
	} {
		if err := os.Setenv(name, value); err != nil {
			f.add("%v", err)
		}
	}
	for file, routes := range map[string]int{"nats.conf": 0, "nats-cluster.conf": 2} {
		options, err := server.ProcessConfigFile(repo.path("deployments", "compose", file))
		if err != nil {
			f.add("%s: %v", file, err)
			continue
		}
		f.require(options.Authorization == token, "%s: the token is not required", file)
		f.require(options.JetStream && options.StoreDir == "/data", "%s: JetStream does not store in /data", file)
		f.require(options.SyncAlways, "%s: messages are not synced to disk before they are acknowledged (sync_always)", file)
		f.require(len(options.Routes) == routes, "%s: %d routes, want %d", file, len(options.Routes), routes)
		f.require(routes == 0 || options.Cluster.Password == token, "%s: the cluster accepts servers without the password", file)
	}
	pinned, err := readModuleVersion(repo.path("go.mod"), "github.com/nats-io/nats-server/v2")
	if err != nil {
		f.add("%v", err)
	}
	for _, file := range []string{"compose.yaml", "compose.cluster.yaml"} {
		text, err := os.ReadFile(repo.path("deployments", "compose", file))
		if err != nil {
			f.add("%v", err)
			continue
		}
		for _, image := range natsImage.FindAllStringSubmatch(string(text), -1) {
			f.require("v"+image[1] == pinned, "%s runs NATS %s, the tests run %s", file, image[1], pinned)
		}
	}
	return "2 configurations, the version that is tested"
}

var natsImage = regexp.MustCompile(`image: nats:([0-9.]+)-`)

func readModuleVersion(path, module string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	match := regexp.MustCompile(regexp.QuoteMeta(module) + ` (v\S+)`).FindSubmatch(text)
	if match == nil {
		return "", fmt.Errorf("%s does not require %s", path, module)
	}
	return string(match[1]), nil
}
