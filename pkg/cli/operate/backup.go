package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/backup"
	"github.com/sluice/sluice/pkg/backup/source"
	"github.com/sluice/sluice/pkg/catalog/maintenance"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/lockdir"
	"github.com/sluice/sluice/pkg/originals"
)

// Longest pause allowed in a backup's stream. Copying a large catalog takes a while.
const backupStall = 10 * time.Minute

// backupCommand backs up a running service or a data directory that is not in use.
func (p commands) backupCommand() *cobra.Command {
	var ask backupRequest
	cmd := &cobra.Command{
		Use: "backup (FILE | -) [--rate SIZE]", Short: "Back up a running service or a data directory", DisableFlagsInUseLine: true,
		GroupID: cli.GroupOperate, Args: cli.Exactly("FILE"),
		Long: "Back up a running service that stores everything in its data directory, or the directory itself if no service is\n" +
			"running. FILE (usually .tar.zst) is replaced only when the backup is complete and on disk; - writes to standard\n" +
			"output. To back up a service on another machine (--url, SLUICE_URL), set SLUICE_ADMIN_KEY to the same value as\n" +
			"on that machine. Exit code 6 means that the backup is complete, but the service had already lost some originals.",
		Example: "sluice backup sluice.tar.zst\nsluice backup - --rate 20MiB | age -r KEY > sluice.age\nSLUICE_ADMIN_KEY=… sluice backup b.tar.zst --url http://sluice:8080",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := source.ParseRate(ask.rate); err != nil {
				return cli.Misusedf("--rate %q: %w", ask.rate, err)
			}
			if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
				return cli.Misusedf("%s is a directory: name a file for the backup, such as %s", args[0], filepath.Join(args[0], "sluice.tar.zst"))
			}
			began := time.Now()
			from, err := ask.open(cmd.Context(), p.Version, p.Environ)
			if err != nil {
				return err
			}
			defer from.Close()
			report, err := receive(cmd.Context(), from, args[0], p.Out)
			if local, here := from.(*offlineBackup); here {
				err = local.cause(err)
			}
			if err != nil {
				return orInterrupted(cmd.Context(), err)
			}
			out := p.Out
			if args[0] == "-" {
				out = p.Err
			}
			return p.printBackup(out, "backup", args[0], report, time.Since(began))
		},
	}
	cmd.Flags().StringVar(&ask.rate, "rate", "", "maximum `size` to read per second, such as 20MB (default: no limit)")
	cmd.Flags().StringVar(&ask.address, "url", "", "`address` of a service on another machine (SLUICE_URL)")
	cmd.Flags().StringVar(&ask.dir, "data-dir", "", "data `directory` (SLUICE_DATA_DIR)")
	return cmd
}

// orInterrupted returns the error to report after a failure. Once ctx is done, it says that the command was stopped.
// Otherwise it is err, with exit code cli.Damaged if the backup is damaged.
func orInterrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return cli.WithExit(cli.Stopped, errors.New("stopped; incomplete files were removed"))
	}
	if _, ok := errors.AsType[*backup.DamagedError](err); ok {
		return cli.WithExit(cli.Damaged, err)
	}
	return err
}

// backupRequest holds the flags for a backup.
type backupRequest struct{ rate, address, dir string }

// open starts the backup and returns its stream.
func (b backupRequest) open(ctx context.Context, program string, environ []string) (io.ReadCloser, error) {
	if b.dir != "" {
		environ = append(environ[:len(environ):len(environ)], "SLUICE_DATA_DIR="+b.dir)
	}
	c, err := config.ParseEnviron(environ)
	if err != nil {
		return nil, cli.WithExit(cli.Misused, err)
	}
	if b.address == "" && b.dir == "" {
		b.address = cli.Variable(environ, "SLUICE_URL")
	}
	if b.address != "" {
		key := cmp.Or(c.AdminKey, localOperatorKey(c.DataDir, b.address))
		if key == "" {
			return nil, cli.Misusedf("set SLUICE_ADMIN_KEY to the operator's key for the service at %s, or run the command on the service's machine with --data-dir set to its data directory", b.address)
		}
		return requestBackup(ctx, b.address, key, b.rate)
	}
	if why := source.Refusal(c); why != "" {
		return nil, errors.New(why)
	}
	if _, err := os.Stat(filepath.Join(c.DataDir, datadir.Catalog)); err != nil {
		return nil, fmt.Errorf("data directory %q has no catalog: set --data-dir or SLUICE_DATA_DIR, or select a service with --url", c.DataDir)
	}
	data, err := datadir.Open(c.DataDir)
	if err == nil {
		return openOffline(ctx, data, program, b.rate)
	}
	access, readErr := datadir.ReadAccess(filepath.Join(c.DataDir, datadir.Operator))
	if errors.Is(readErr, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; that process cannot make backups, or is still starting", err)
	}
	if readErr != nil {
		return nil, fmt.Errorf("reading the service's address from %s: %w", datadir.Operator, readErr)
	}
	return requestBackup(ctx, access.Address, access.Key, b.rate)
}

// localOperatorKey returns the operator key in the data directory, or "" if the service at the address doesn't use that
// directory.
func localOperatorKey(dir, address string) string {
	access, err := datadir.ReadAccess(filepath.Join(dir, datadir.Operator))
	if err != nil || access.Address != strings.TrimSuffix(address, "/") {
		return ""
	}
	return access.Key
}

func requestBackup(ctx context.Context, address, key, rate string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	target := strings.TrimSuffix(address, "/") + source.Path + "?" + url.Values{source.RateParameter: {rate}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, nil)
	if err != nil {
		cancel(nil)
		return nil, cli.Misusedf("requesting a backup: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	stall := time.AfterFunc(backupStall, func() { cancel(fmt.Errorf("the service sent nothing for %s", backupStall)) })
	res, err := http.DefaultClient.Do(req) //nolint:bodyclose // the download closes it
	if err != nil {
		stall.Stop()
		cancel(nil)
		return nil, cli.WithExit(cli.Unavailable, fmt.Errorf("requesting a backup: %w", errors.Join(err, contextCause(ctx))))
	}
	body := &download{body: res.Body, stall: stall, cancel: cancel, ctx: ctx}
	if res.StatusCode == http.StatusOK {
		return body, nil
	}
	defer body.Close()
	b, err := io.ReadAll(io.LimitReader(body, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("reading the service's error response: %w", err)
	}
	var p struct{ Detail string }
	if json.Unmarshal(b, &p) != nil || p.Detail == "" {
		p.Detail = "that server is not a Sluice service of this version"
	}
	return nil, cli.WithExit(cli.ExitOfStatus(res.StatusCode), fmt.Errorf("the service at %s rejected the backup with status %d: %s", address, res.StatusCode, p.Detail))
}

func contextCause(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// download is a response body whose reads fail if no data arrives for backupStall.
type download struct {
	body   io.ReadCloser
	stall  *time.Timer
	cancel context.CancelCauseFunc
	ctx    context.Context
}

func (d *download) Read(p []byte) (int, error) {
	n, err := d.body.Read(p)
	d.stall.Reset(backupStall)
	if err != nil && !errors.Is(err, io.EOF) {
		err = errors.Join(err, contextCause(d.ctx))
	}
	return n, err
}

func (d *download) Close() error {
	d.stall.Stop()
	d.cancel(nil)
	return d.body.Close()
}

// receive writes a backup to standard output or to a file. The file gets its final name only when it is complete.
// receive verifies the content itself instead of trusting the sender.
func receive(ctx context.Context, from io.Reader, file string, stdout io.Writer) (report backup.Report, err error) {
	schema, err := maintenance.SchemaVersion()
	if err != nil {
		return report, err
	}
	options := backup.Options{Schema: schema, Key: validKey}
	if file == "-" {
		return backup.Read(ctx, io.TeeReader(from, stdout), options, nil)
	}
	partial, remove, err := makePartial(file)
	if err != nil {
		return report, err
	}
	defer func() {
		partial.Close()
		remove()
	}()
	if report, err = backup.Read(ctx, io.TeeReader(from, partial), options, nil); err != nil {
		return report, err
	}
	if err := errors.Join(partial.Sync(), partial.Close()); err != nil {
		return report, fmt.Errorf("writing the backup: %w", err)
	}
	if err := os.Rename(partial.Name(), file); err != nil {
		return report, fmt.Errorf("renaming the backup: %w", err)
	}
	return report, durable.Dir(filepath.Dir(file))
}

// makePartial creates a file for the incomplete backup, in a directory next to the target. If this process is killed,
// the next backup to the same target removes that directory.
func makePartial(file string) (partial *os.File, remove func(), err error) {
	parent, pattern := filepath.Dir(file), "."+filepath.Base(file)+".partial-*"
	dir, err := lockdir.Make(parent, pattern)
	if err == nil {
		if partial, err = os.OpenFile(filepath.Join(dir.Path(), "backup"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			return partial, func() { _ = dir.Remove() }, nil // if this fails, the next backup removes the directory
		}
		_ = dir.Remove()
	} else { // some file systems don't support locks
		if partial, err = os.CreateTemp(parent, pattern); err == nil {
			return partial, func() { os.Remove(partial.Name()) }, nil // fails harmlessly once the file has been renamed
		}
	}
	return nil, nil, fmt.Errorf("creating the backup file: %w", err)
}

func validKey(key string) error {
	_, err := originals.DatasourceID(key)
	return err
}

// backupReport is an archive's description as JSON.
type backupReport struct {
	Done    string  `json:"done"`
	File    string  `json:"file"`
	Seconds float64 `json:"seconds"`
	backup.Report
}

// printBackup prints an archive's content. It returns an error if originals are missing.
func (p commands) printBackup(out io.Writer, done, file string, r backup.Report, took time.Duration) error {
	if p.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(backupReport{Done: done, File: file, Seconds: took.Seconds(), Report: r}); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	} else {
		fmt.Fprintf(out, "%s: %s, catalog of %s (%s, schema %d), %s of %s, %s in %s\n", done, file, r.CreatedAt.Format(time.RFC3339), formatSize(r.CatalogBytes),
			r.Schema, cli.Counted(r.Originals, "original"), formatSize(r.OriginalsBytes), formatSize(r.ArchiveBytes), took.Round(10*time.Millisecond))
		for _, l := range r.Losses {
			fmt.Fprintf(out, "lost: original %s of datasource %s (%s) is %s\n", l.Key, l.Datasource, strconv.Quote(l.Name), l.Reason)
		}
		if more := r.Lost - int64(len(r.Losses)); more > 0 {
			fmt.Fprintf(out, "lost: %d more\n", more)
		}
	}
	if r.Lost > 0 {
		return cli.WithExit(cli.Damaged, fmt.Errorf("the backup is complete, except for %s that the service had already lost: upload them again if they are still needed",
			cli.Counted(r.Lost, "original")))
	}
	return nil
}

func formatSize(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, units := float64(n)/unit, "KMGTP"
	for value >= unit && len(units) > 1 {
		value, units = value/unit, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", value, units[0])
}
