package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
	"github.com/sluice/sluice/pkg/lists"
)

type keyFlags struct {
	name, workspace, scopes, limits, dataDir string
	expires                                  time.Duration
	all                                      bool
}

// keysCommand creates, lists and revokes API keys directly in the catalog, so it doesn't need an API key.
func (p commands) keysCommand() *cobra.Command {
	keys := &cobra.Command{
		Use: "keys create|list|revoke", Short: "Create, list and revoke API keys", GroupID: cli.GroupOperate, DisableFlagsInUseLine: true,
		Long: "Manage API keys directly in the database (DATABASE_URL, --data-dir or SLUICE_DATA_DIR). This is safe while the\n" +
			"service is running.",
	}
	var f keyFlags
	opened := func(do func(context.Context, *catalog.Catalog, []string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			if f.expires < 0 {
				return cli.Misusedf("--expires %s: must be positive", f.expires)
			}
			c, err := openCatalog(cmd.Context(), p.Environ, f.dataDir)
			if err != nil {
				return err
			}
			defer c.Close()
			return do(cmd.Context(), c, args)
		}
	}
	create := &cobra.Command{
		Use: "create", Short: "Create an API key and show it once", Args: cli.NoArguments,
		Example: "sluice keys create --name reader --scopes read --expires 720h\nsluice keys create --workspace acme --limits queries=10000,requests_per_second=20",
		RunE: opened(func(ctx context.Context, c *catalog.Catalog, _ []string) error {
			return p.createKey(ctx, c, f)
		}),
	}
	create.Flags().StringVar(&f.name, "name", "", "`name` that identifies the key in lists")
	create.Flags().StringVar(&f.scopes, "scopes", "read,write", "comma-separated permissions: read, write")
	create.Flags().DurationVar(&f.expires, "expires", 0, "lifetime of the key, such as 720h (default: no expiry)")
	create.Flags().StringVar(&f.limits, "limits", "", "comma-separated `limits`: queries=N and tokens=N per month, requests_per_second=N (default: none)")
	list := &cobra.Command{
		Use: "list", Short: "List API keys", Args: cli.NoArguments,
		RunE: opened(func(ctx context.Context, c *catalog.Catalog, _ []string) error {
			return p.listKeys(ctx, c, f)
		}),
	}
	list.Flags().BoolVar(&f.all, "all", false, "list the keys of all workspaces")
	revoke := &cobra.Command{
		Use: "revoke ID", Short: "Revoke an API key immediately", Example: "sluice keys revoke 01a1ff5b-9089-711a-a298-ac51be28ff37",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.WithExit(cli.Misused, errors.New("specify the id of the key; sluice keys list shows the ids"))
			}
			return cli.AtMost(1)(cmd, args)
		},
		RunE: opened(func(ctx context.Context, c *catalog.Catalog, args []string) error {
			k, err := c.RevokeKey(ctx, f.workspace, args[0])
			if err != nil {
				return err
			}
			if p.JSON {
				return p.PrintJSON(newKeyView(k))
			}
			fmt.Fprintf(p.Out, "Revoked key %s (%s).\n", k.ID, k.Name)
			return nil
		}),
	}
	for _, cmd := range []*cobra.Command{create, list, revoke} {
		cmd.Flags().StringVar(&f.workspace, "workspace", domain.DefaultWorkspace, "`id` of the workspace")
		cmd.Flags().StringVar(&f.dataDir, "data-dir", "", "data `directory` (SLUICE_DATA_DIR)")
	}
	create.Flags().Lookup("workspace").Usage = "`id` of the workspace, which is created if it does not exist"
	keys.AddCommand(create, list, revoke)
	return keys
}

// keyView is a key's JSON form.
type keyView struct {
	ID         string         `json:"id"`
	Key        string         `json:"key,omitempty"` // set only by the command that creates the key
	Name       string         `json:"name"`
	Workspace  string         `json:"workspace"`
	Hint       string         `json:"hint"`
	Scopes     []domain.Scope `json:"scopes"`
	CreatedAt  time.Time      `json:"createdAt"`
	LastUsedAt *time.Time     `json:"lastUsedAt"`
	ExpiresAt  *time.Time     `json:"expiresAt"`
	Limits     domain.Limits  `json:"limits,omitempty"`
}

func newKeyView(k domain.APIKey) keyView {
	return keyView{
		ID: k.ID, Name: k.Name, Workspace: k.WorkspaceID, Hint: k.Hint, Scopes: k.Scopes, CreatedAt: k.CreatedAt,
		LastUsedAt: k.LastUsedAt, ExpiresAt: k.ExpiresAt, Limits: k.Limits,
	}
}

func (p commands) createKey(ctx context.Context, keys *catalog.Catalog, f keyFlags) error {
	secret := domain.NewKey()
	k := domain.APIKey{
		ID: domain.NewID(), WorkspaceID: f.workspace, Name: f.name, Hash: domain.HashKey(secret), Hint: secret[len(secret)-4:],
		CreatedAt: time.Now().UTC(),
	}
	for _, s := range strings.Split(f.scopes, ",") {
		switch scope := domain.Scope(strings.TrimSpace(s)); scope {
		case domain.ScopeRead, domain.ScopeWrite:
			k.Scopes = append(k.Scopes, scope)
		default:
			return cli.Misusedf("--scopes %q: must be read or write (create keys for a single agent with POST /keys)", s)
		}
	}
	if f.expires > 0 {
		at := k.CreatedAt.Add(f.expires)
		k.ExpiresAt = &at
	}
	var err error
	if k.Limits, err = parseLimits(f.limits); err != nil {
		return err
	}
	_, err = keys.WorkspaceName(ctx, f.workspace)
	isNew := domain.CodeOf(err) == domain.CodeNotFound
	switch {
	case isNew && !workspaceID().MatchString(f.workspace):
		return cli.Misusedf("--workspace %q: use 1 to 100 letters, digits, dots, hyphens and underscores, and begin with a letter or digit", f.workspace)
	case isNew:
		if err := keys.EnsureWorkspace(ctx, f.workspace, f.workspace); err != nil {
			return fmt.Errorf("creating workspace %q: %w", f.workspace, err)
		}
	case err != nil:
		return err
	}
	k, err = keys.CreateKey(ctx, k)
	if err != nil {
		return fmt.Errorf("storing the key: %w", err)
	}
	if p.JSON {
		made := newKeyView(k)
		made.Key = secret
		return p.PrintJSON(made)
	}
	kind := "workspace"
	if isNew {
		kind = "new workspace"
	}
	fmt.Fprintf(p.Out, "%s\nid %s, %s %s. Save the key now: it is not shown again.\n", secret, k.ID, kind, f.workspace)
	return nil
}

// workspaceID matches valid ids for new workspaces. These ids appear in commands, logs and audit records.
var workspaceID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// parseLimits parses a key's limits, such as queries=1000,requests_per_second=5.
func parseLimits(text string) (domain.Limits, error) {
	if text == "" {
		return nil, nil
	}
	limits := domain.Limits{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		n, err := strconv.ParseInt(value, 10, 64)
		metric := domain.Metric(name)
		if !slices.Contains([]domain.Metric{domain.MetricQueries, domain.MetricTokens, domain.LimitRequests}, metric) || err != nil || n <= 0 {
			return nil, cli.Misusedf("--limits %q: must be queries=N, tokens=N or requests_per_second=N, where N is a positive number", pair)
		}
		limits[metric] = n
	}
	return limits, nil
}

func (p commands) listKeys(ctx context.Context, keys *catalog.Catalog, f keyFlags) error {
	workspaces := []string{f.workspace}
	if f.all {
		var err error
		if workspaces, err = keys.Workspaces(ctx); err != nil {
			return err
		}
	} else if _, err := keys.WorkspaceName(ctx, f.workspace); err != nil {
		return fmt.Errorf("%w; sluice keys list --all shows the workspaces", err)
	}
	var all []domain.APIKey
	for _, ws := range workspaces {
		found, err := keys.Keys(ctx, ws)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if p.JSON {
		shown := lists.Map(all, newKeyView)
		return p.PrintJSON(map[string]any{"data": shown})
	}
	table := tabwriter.NewWriter(p.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tWORKSPACE\tNAME\tKEY\tSCOPES\tLAST USED\tEXPIRES")
	for _, k := range all {
		scopes := lists.Map(k.Scopes, func(s domain.Scope) string { return string(s) })
		fmt.Fprintf(table, "%s\t%s\t%s\t…%s\t%s\t%s\t%s\n", k.ID, k.WorkspaceID, k.Name, k.Hint, strings.Join(scopes, ","), formatTime(k.LastUsedAt), formatTime(k.ExpiresAt))
	}
	return table.Flush()
}

func formatTime(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}
