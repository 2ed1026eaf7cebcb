package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice/sluice/pkg/config"
)

// Time limit for the check. It is longer than the limit that a process sets for checking its own dependencies.
const healthcheckTimeout = 6 * time.Second

// Healthcheck returns the command that checks whether the process at SLUICE_ADDR is ready. Containers use it, because
// their images contain no other program that could check this. `process` describes a process that has no default
// address and therefore needs SLUICE_ADDR, such as "a crawler process". For the service, process is "".
func (p *Program) Healthcheck(process string) *cobra.Command {
	var given settings
	cmd := &cobra.Command{
		Use: "healthcheck [settings]", Short: "Exit with 0 if the process at SLUICE_ADDR is ready", GroupID: GroupProcess,
		DisableFlagsInUseLine: true, Args: cobra.ArbitraryArgs,
		Long:    "Exit with 0 if the process at SLUICE_ADDR on this machine is ready. All other settings are ignored.",
		Example: p.Name + " healthcheck --addr 127.0.0.1:9090",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := healthcheck(cmd.Context(), process, append(given.args, args...), p.Environ); err != nil {
				return err
			}
			if p.JSON {
				return p.PrintJSON(map[string]bool{"ready": true})
			}
			return nil
		},
	}
	given.flags(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = f.Name != "addr" })
	return WithoutUsage(cmd)
}

func healthcheck(ctx context.Context, process string, args, environ []string) error {
	c, err := config.Parse(args, environ)
	if err != nil {
		return WithExit(Misused, err)
	}
	if c.Addr == "" && process != "" {
		return Misusedf("set SLUICE_ADDR: without it, %s listens on a free port, which healthcheck cannot know", process)
	}
	address, err := AddressOf(c)
	if err != nil {
		return WithExit(Misused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("checking readiness: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return WithExit(Unavailable, fmt.Errorf("checking readiness: %w; check that the process is running and that SLUICE_ADDR or --addr is its address", err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if res.StatusCode != http.StatusOK {
		return WithExit(Unavailable, errors.Join(fmt.Errorf("not ready: %s", body), err))
	}
	return nil
}
