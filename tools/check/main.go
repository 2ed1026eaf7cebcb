// Command check verifies the files in deployments/ without Docker, Kubernetes or Helm. It lints and renders the chart
// with Helm's packages and decodes the objects strictly. It reads the compose files, the Dockerfile, the NATS
// configuration, and the alerts and dashboard with the packages of Compose, BuildKit, NATS and Prometheus. It also
// checks the project's own rules: processes run without privileges, workers get no database credentials, and all
// settings exist. It prints all errors it finds and exits with 1 if there are any.
//
// It is a separate module, to keep its dependencies out of the service.
//
//	cd tools/check && go run .                  check everything
//	cd tools/check && go run . -render full     print the chart rendered with ci/full-values.yaml
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func main() {
	root := flag.String("root", "../..", "root of the repository")
	set := flag.String("render", "", "print what the chart makes of this set of values, as helm template does, and check nothing")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	if *set != "" {
		err = printChart(ctx, *root, *set, os.Stdout)
	} else {
		err = run(ctx, *root, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

// repository holds the paths and the facts about the service that the checks need.
type repository struct {
	root     string
	settings settings
	workers  workerNames
	server   validator
}

func (r repository) path(elements ...string) string {
	return filepath.Join(append([]string{r.root}, elements...)...)
}

func openRepository(root string) (repository, error) {
	r := repository{root: root}
	var err error
	if r.settings, err = readSettings(r.path("docs", "configuration.md")); err != nil {
		return r, err
	}
	if r.workers, err = readWorkerNames(r.path("pkg", "jobs", "subjects.go")); err != nil {
		return r, err
	}
	r.server, err = newValidator()
	return r, err
}

func run(ctx context.Context, root string, out io.Writer) error {
	repo, err := openRepository(root)
	if err != nil {
		return err
	}
	checks := []struct {
		name  string
		check func(context.Context, repository, *faults) (summary string)
	}{
		{"Dockerfile", checkDockerfile},
		{"compose", checkCompose},
		{"NATS", checkNATS},
		{"chart", checkChart},
		{"monitoring", checkMonitoring},
		{"documents", checkDocuments},
	}
	count := 0
	for _, c := range checks {
		var f faults
		summary := c.check(ctx, repo, &f)
		for _, fault := range f {
			fmt.Fprintf(out, "%s: %s\n", c.name, fault)
		}
		if count += len(f); len(f) == 0 {
			fmt.Fprintf(out, "%s: ok, %s\n", c.name, summary)
		}
	}
	if count > 0 {
		return fmt.Errorf("%d faults in deployments", count)
	}
	return nil
}

// faults collects the errors found, in order.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// require records an error unless the condition holds.
func (f *faults) require(holds bool, format string, args ...any) {
	if !holds {
		f.add(format, args...)
	}
}
