package cli

import (
	"context"
	"io"
	"log/slog"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/mcp"
	"github.com/sluice/sluice/pkg/telemetry"
)

// MCP returns the command that relays Model Context Protocol messages between a running service and a client on
// standard input and output.
func (p *Program) MCP() *cobra.Command {
	var where ConnectionFlags
	cmd := &cobra.Command{
		Use: "mcp [--url URL] [--key KEY]", Short: "Serve the Model Context Protocol on standard input and output",
		GroupID: GroupUse, Args: NoArguments, DisableFlagsInUseLine: true,
		Long: "Serve the Model Context Protocol on standard input and output, for clients that start a server as a command.\n" +
			"Requests are passed on to a running service, which offers the same tools over HTTP at /mcp.",
		Example: "claude mcp add sluice -e SLUICE_URL=$SLUICE_URL -e SLUICE_API_KEY=$SLUICE_API_KEY -- sluice mcp",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.relay(cmd.Context(), where)
		},
	}
	where.Flags(cmd)
	return cmd
}

func (p *Program) relay(ctx context.Context, where ConnectionFlags) error {
	at, err := where.Locate(p.Environ)
	if err != nil {
		return err
	}
	base, err := url.Parse(at.Address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.RawQuery != "" || base.User != nil {
		return Misusedf("invalid service address %q: write it like http://127.0.0.1:8080", at.Address)
	}
	relay := mcp.Relay{Endpoint: base.JoinPath("mcp").String(), Key: at.Key, Version: p.Version,
		Log: slog.New(telemetry.RedactingHandler(slog.NewTextHandler(p.Err, &slog.HandlerOptions{Level: slog.LevelWarn}), domain.Secrets{}))}
	return relay.Run(ctx, p.In, output{p.Out})
}

type output struct{ io.Writer }

// Close implements io.Closer.
func (output) Close() error { return nil }
