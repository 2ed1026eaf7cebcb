package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

const keysUsage = `usage: api keys create [--name NAME] [--workspace ID] [--scopes read,write] [--expires 720h]
       api keys list [--workspace ID]
       api keys revoke ID [--workspace ID]
The keys are those of DATABASE_URL, or of --data-dir or SLUICE_DATA_DIR; the service may be running.`

// keysCommand makes, lists and revokes API keys in the catalog itself, so that it works without a key.
func keysCommand(ctx context.Context, args, environ []string, out io.Writer) error {
	if len(args) == 0 {
		return usageError{fmt.Errorf("create, list or revoke?\n%s", keysUsage)}
	}
	verb, args := args[0], args[1:]
	var id string
	if verb == "revoke" && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		id, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("keys", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	name := flags.String("name", "", "")
	workspace := flags.String("workspace", DefaultWorkspace, "")
	scopes := flags.String("scopes", "read,write", "")
	expires := flags.Duration("expires", 0, "")
	dir := flags.String("data-dir", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp), verb == "help", verb == "-h", verb == "--help":
		fmt.Fprintln(out, keysUsage)
		return nil
	case err != nil:
		return usageError{fmt.Errorf("%w\n%s", err, keysUsage)}
	case flags.NArg() > 0:
		return usageError{fmt.Errorf("unexpected argument %q\n%s", flags.Arg(0), keysUsage)}
	case *expires < 0:
		return usageError{fmt.Errorf("--expires %s: must be in the future", *expires)}
	case verb == "revoke" && id == "":
		return usageError{fmt.Errorf("which key? keys list shows their ids\n%s", keysUsage)}
	}
	keys, err := openCatalog(ctx, environ, *dir)
	if err != nil {
		return err
	}
	defer keys.Close()
	switch verb {
	case "create":
		return createKey(ctx, keys, *name, *workspace, *scopes, *expires, out)
	case "list":
		return listKeys(ctx, keys, *workspace, out)
	case "revoke":
		k, err := keys.RevokeKey(ctx, *workspace, id)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "revoked %s (%s)\n", k.ID, k.Name)
		return nil
	default:
		return usageError{fmt.Errorf("unknown: keys %s\n%s", verb, keysUsage)}
	}
}

func createKey(ctx context.Context, keys *catalog.Catalog, name, workspace, scopes string, expires time.Duration, out io.Writer) error {
	secret := api.NewKey()
	k := domain.APIKey{
		ID: domain.NewID(), WorkspaceID: workspace, Name: name, Hash: domain.HashKey(secret), Hint: secret[len(secret)-4:],
		CreatedAt: time.Now().UTC(),
	}
	for _, s := range strings.Split(scopes, ",") {
		switch scope := domain.Scope(strings.TrimSpace(s)); scope {
		case domain.ScopeRead, domain.ScopeWrite:
			k.Scopes = append(k.Scopes, scope)
		default:
			return usageError{fmt.Errorf("scope %q: must be read or write (a key that queries one agent is made over HTTP, POST /keys)", s)}
		}
	}
	if expires > 0 {
		at := k.CreatedAt.Add(expires)
		k.ExpiresAt = &at
	}
	if err := keys.EnsureWorkspace(ctx, workspace, workspace); err != nil {
		return fmt.Errorf("making workspace %q: %w", workspace, err)
	}
	if err := keys.CreateKey(ctx, k); err != nil {
		return fmt.Errorf("storing the key: %w", err)
	}
	fmt.Fprintf(out, "%s\nid %s, workspace %s; the key is shown only now\n", secret, k.ID, workspace)
	return nil
}

func listKeys(ctx context.Context, keys *catalog.Catalog, workspace string, out io.Writer) error {
	all, err := keys.Keys(ctx, workspace)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tKEY\tSCOPES\tLAST USED\tEXPIRES")
	for _, k := range all {
		scopes := make([]string, len(k.Scopes))
		for i, s := range k.Scopes {
			scopes[i] = string(s)
		}
		fmt.Fprintf(table, "%s\t%s\t…%s\t%s\t%s\t%s\n", k.ID, k.Name, k.Hint, strings.Join(scopes, ","), when(k.LastUsedAt), when(k.ExpiresAt))
	}
	return table.Flush()
}

func when(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}
