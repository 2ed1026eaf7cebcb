package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/sluice/sluice/pkg/mcp"
)

const mcpUsage = `usage: api mcp [--url URL] [--key KEY] [--data-dir DIR]
Serves the Model Context Protocol on standard input and output, for clients that start a server as a command. It passes
everything on to a running service and keeps nothing; the service's own /mcp has the same tools over HTTP.
  --url URL         the service (SLUICE_URL, or where SLUICE_ADDR listens)
  --key KEY         its API key (SLUICE_API_KEY, or that of the first start in the data directory)
  --data-dir DIR    of the service, to find the key of the first start (SLUICE_DATA_DIR)`

// mcpCommand relays between a client on standard input and output and a running service.
func mcpCommand(ctx context.Context, args, environ []string, out, errs io.Writer) error {
	var address, key, dataDir string
	flags := flag.NewFlagSet("mcp", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&address, "url", "", "")
	flags.StringVar(&key, "key", "", "")
	flags.StringVar(&dataDir, "data-dir", "", "")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(out, mcpUsage)
		return nil
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		return usageError{fmt.Errorf("%w\n%s", err, mcpUsage)}
	}
	at, err := locate(address, key, dataDir, environ)
	if err != nil {
		return err
	}
	base, err := url.Parse(at.address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.RawQuery != "" || base.User != nil {
		return usageError{fmt.Errorf("%q is no address of a service: it must look like http://127.0.0.1:8080", at.address)}
	}
	relay := mcp.Relay{Endpoint: base.JoinPath("mcp").String(), Key: at.key, Version: Version(), Log: newLogger(errs, "warn")}
	return relay.Run(ctx, os.Stdin, output{out})
}

// output is a stream that is not the command's to close.
type output struct{ io.Writer }

// Close implements io.Closer.
func (output) Close() error { return nil }
