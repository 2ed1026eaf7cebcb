// Command local runs a deployment's engines on this machine, without Docker, for development and tests: PostgreSQL,
// Milvus and a cluster of three NATS servers.
//
//	local up [-dir DIR]         start them in the background and print the settings for using them
//	local down [-dir DIR]       stop them; the data is kept
//	local status [-dir DIR]     print whether they are running, and the settings
//	local exec -- CMD [ARG…]    run a command, such as `go test ./...`, whose tests share new engines
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/sluice/sluice/tools/local/engines"
)

func main() {
	engines.RunChildIfAsked() // doesn't return in an engine's guard process
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exitCode(exit))
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

// exitCode returns the command's exit code or, like a shell, 128 plus the number of the signal that ended it.
func exitCode(e *exec.ExitError) int {
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return e.ExitCode()
}

const usage = `usage: local up|down|status [-dir DIR]
       local exec -- CMD [ARG...]
`

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return flag.ErrHelp
	}
	flags := flag.NewFlagSet("local "+args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := ""
	if args[0] != "exec" {
		flags.StringVar(&dir, "dir", "data/local", "directory of the engines' data")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return flag.ErrHelp
	}
	if args[0] != "exec" && flags.NArg() > 0 {
		return fmt.Errorf("%s: unexpected argument %q", args[0], flags.Arg(0))
	}
	switch args[0] {
	case "up":
		return up(ctx, dir, stdout, stderr)
	case "down":
		return down(ctx, dir, stdout)
	case "status":
		return status(dir, stdout)
	case "exec":
		return execute(ctx, flags.Args(), stdout, stderr)
	case commandKeep:
		return runEngines(ctx, dir)
	default:
		fmt.Fprint(stderr, usage)
		return fmt.Errorf("unknown command %q", args[0])
	}
}
