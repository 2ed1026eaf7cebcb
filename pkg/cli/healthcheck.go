package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice/sluice/pkg/config"
)

// Time limit for the check, longer than a process's own limit for checking its dependencies.
const healthcheckTimeout = 6 * time.Second

// Healthcheck returns the command that checks whether the process at SLUICE_ADDR is ready. Container images contain no
// other program that could do this. If the process has no default address and therefore needs SLUICE_ADDR, `process`
// describes it, as in "a crawler process". For the service, `process` is "".
func (p *Program) Healthcheck(process string) *cobra.Command {
	var given settings
	cmd := &cobra.Command{
		Use: "healthcheck [settings]", Short: "Exit with 0 if the process at SLUICE_ADDR is ready", GroupID: GroupProcess,
		DisableFlagsInUseLine: true, Args: cobra.ArbitraryArgs,
		Long:    "Exit with 0 if the process at SLUICE_ADDR on this machine is ready, and print its notes, such as whether it reads scanned documents. All other settings are ignored.",
		Example: p.Name + " healthcheck --addr 127.0.0.1:9090",
		RunE: func(cmd *cobra.Command, args []string) error {
			notes, err := healthcheck(cmd.Context(), process, append(given.args, args...), p.Environ)
			if err != nil {
				return err
			}
			if p.JSON {
				return p.PrintJSON(map[string]any{"ready": true, "notes": notes})
			}
			for _, name := range slices.Sorted(maps.Keys(notes)) {
				fmt.Fprintf(p.Out, "%s: %s\n", name, notes[name])
			}
			return nil
		},
	}
	given.flags(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = f.Name != "addr" })
	return WithoutUsage(cmd)
}

// healthcheck returns the process's notes, keyed by component, or an error if the process is not ready.
func healthcheck(ctx context.Context, process string, args, environ []string) (notes map[string]string, err error) {
	c, err := config.Parse(args, environ)
	if err != nil {
		return nil, WithExit(Misused, err)
	}
	if c.Addr == "" && process != "" {
		return nil, Misusedf("set SLUICE_ADDR: without it, %s listens on a free port, which healthcheck cannot know", process)
	}
	address, err := AddressOf(c)
	if err != nil {
		return nil, WithExit(Misused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", nil)
	if err != nil {
		return nil, fmt.Errorf("checking readiness: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, WithExit(Unavailable, fmt.Errorf("checking readiness: %w; check that the process is running and that SLUICE_ADDR or --addr is its address", err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 16<<10))
	if res.StatusCode != http.StatusOK {
		return nil, WithExit(Unavailable, errors.Join(fmt.Errorf("not ready: %s", body), err))
	}
	var ready struct {
		Checks []struct{ Name, Note string }
	}
	if err := json.Unmarshal(body, &ready); err != nil {
		return nil, fmt.Errorf("reading the process's answer: %w", err)
	}
	notes = map[string]string{}
	for _, check := range ready.Checks {
		if check.Note != "" {
			notes[check.Name] = check.Note
		}
	}
	return notes, nil
}
