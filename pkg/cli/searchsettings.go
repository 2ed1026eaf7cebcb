package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// searchSettingsCommands returns the `datastores` subcommands for search settings.
func (p *Program) searchSettingsCommands(where *ConnectionFlags) []*cobra.Command {
	synonyms := &cobra.Command{
		Use: "synonyms DATASTORE [FILE]", Short: "Print or replace the synonyms of a datastore", Args: oneOrTwo,
		Long:    "FILE (- for standard input) contains one synonym rule per line, in Solr's format.",
		Example: "sluice datastores synonyms Handbook synonyms.txt",
		RunE: p.connected(where, func(ctx context.Context, c *client.Client, args []string) error {
			return p.synonyms(ctx, c, args)
		}),
	}
	var version int
	var restore int64
	var versions bool
	settings := &cobra.Command{
		Use: "settings DATASTORE [FILE]", Short: "Print or replace the search settings of a datastore", Args: oneOrTwo,
		Long:    "FILE (- for standard input) contains all search settings as JSON: synonyms, stop words, boosts and pins.",
		Example: "sluice datastores settings Handbook settings.json",
		RunE: p.connected(where, func(ctx context.Context, c *client.Client, args []string) error {
			switch {
			case versions:
				return p.settingsVersions(ctx, c, args[0])
			case restore > 0:
				return p.restoreSettings(ctx, c, args[0], restore)
			}
			return p.settings(ctx, c, args, version)
		}),
	}
	settings.Flags().IntVar(&version, "version", 0, "print this `version` (default: the current one)")
	settings.Flags().BoolVar(&versions, "versions", false, "list the stored versions")
	settings.Flags().Int64Var(&restore, "restore", 0, "restore this `version`")
	settings.MarkFlagsMutuallyExclusive("version", "versions", "restore")
	return []*cobra.Command{synonyms, settings}
}

// oneOrTwo requires a datastore name and allows a file name.
func oneOrTwo(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return Misusedf("missing argument DATASTORE")
	}
	return AtMost(2)(cmd, args)
}

// Maximum size in bytes of a settings file.
const maxSettingsFile = 4 << 20

// readSettings reads a file, or standard input for "-".
func (p *Program) readSettings(ctx context.Context, name string) ([]byte, error) {
	in := p.Input(ctx)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, WithExit(Misused, err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSettingsFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(data) > maxSettingsFile {
		return nil, Misusedf("%s has more than %d bytes", name, maxSettingsFile)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

func (p *Program) synonyms(ctx context.Context, c *client.Client, args []string) error {
	d, err := datastore(ctx, c, args[0])
	if err != nil {
		return err
	}
	now, err := c.SearchSettings(ctx, d.Id, 0)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if p.JSON {
			return p.PrintJSON(map[string]any{"synonyms": now.Synonyms})
		}
		for _, rule := range now.Synonyms {
			if strings.HasPrefix(rule, "#") {
				rule = `\` + rule
			}
			fmt.Fprintln(p.Out, Printable(rule))
		}
		return nil
	}
	data, err := p.readSettings(ctx, args[1])
	if err != nil {
		return err
	}
	rules, lines := rulesIn(string(data))
	changed := settingsOf(now)
	changed.Synonyms = &rules
	made, err := c.UpdateSearchSettings(ctx, d.Id, now.Version, changed)
	if err != nil {
		return atLine(err, args[1], lines)
	}
	if p.JSON {
		return p.PrintJSON(made)
	}
	fmt.Fprintf(p.Out, "stored %s as version %d\n", Counted(len(rules), "rule"), made.Version)
	return nil
}

// rulesIn returns the rules in a synonyms file, one per line, and their line numbers.
func rulesIn(text string) (rules []string, lines []int) {
	rules = []string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			rules, lines = append(rules, line), append(lines, n)
		}
	}
	return rules, lines
}

var rulePattern = lazyregexp.New(`^synonyms\[(\d+)\]$`)

// atLine adds the file name and the line numbers of the invalid rules to the service's error. `lines` holds every
// rule's line number.
func atLine(err error, file string, lines []int) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	var faults []string
	for _, f := range e.Fields {
		if m := rulePattern().FindStringSubmatch(f.Field); m != nil {
			if i, err := strconv.Atoi(m[1]); err == nil && i < len(lines) {
				faults = append(faults, fmt.Sprintf("%s:%d: %s", file, lines[i], f.Message))
			}
		}
	}
	if len(faults) == 0 {
		return err
	}
	named := *e
	named.Message, named.Fields = strings.Join(faults, "\n"), nil
	return &named
}

func (p *Program) settings(ctx context.Context, c *client.Client, args []string, version int) error {
	d, err := datastore(ctx, c, args[0])
	if err != nil {
		return err
	}
	if len(args) == 1 {
		s, err := c.SearchSettings(ctx, d.Id, version)
		if err != nil {
			return err
		}
		return p.PrintJSON(settingsOf(s))
	}
	if version != 0 {
		return Misusedf("--version prints a version, so it cannot be combined with FILE")
	}
	data, err := p.readSettings(ctx, args[1])
	if err != nil {
		return err
	}
	var s client.SearchSettingsUpdate
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return Misusedf("%s: must be search settings as JSON: %v", args[1], err)
	}
	made, err := c.UpdateSearchSettings(ctx, d.Id, -1, s)
	if err != nil {
		return err
	}
	return p.storedSettings(made)
}

// settingsOf returns the search settings that clients can update.
func settingsOf(s *client.SearchSettings) client.SearchSettingsUpdate {
	return client.SearchSettingsUpdate{Synonyms: &s.Synonyms, StopWords: &s.StopWords, KeepWords: &s.KeepWords, Boosts: &s.Boosts, Pins: &s.Pins}
}

func (p *Program) storedSettings(s *client.SearchSettings) error {
	if p.JSON {
		return p.PrintJSON(s)
	}
	fmt.Fprintf(p.Out, "stored as version %d\n", s.Version)
	for _, w := range s.Warnings {
		fmt.Fprintf(p.Err, "%s %s\n", w.Field, Printable(w.Message))
	}
	return nil
}

func (p *Program) restoreSettings(ctx context.Context, c *client.Client, wanted string, version int64) error {
	d, err := datastore(ctx, c, wanted)
	if err != nil {
		return err
	}
	made, err := c.RestoreSearchSettings(ctx, d.Id, version)
	if err != nil {
		return err
	}
	return p.storedSettings(made)
}

func (p *Program) settingsVersions(ctx context.Context, c *client.Client, wanted string) error {
	d, err := datastore(ctx, c, wanted)
	if err != nil {
		return err
	}
	all, err := c.SearchSettingsVersions(ctx, d.Id)
	if err != nil {
		return err
	}
	if p.JSON {
		return p.PrintJSON(map[string]any{"data": all})
	}
	w := tabwriter.NewWriter(p.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "VERSION\tCREATED")
	for _, v := range all {
		fmt.Fprintf(w, "%d\t%s\n", v.Version, v.CreatedAt.Format("2006-01-02 15:04:05Z07:00"))
	}
	return w.Flush()
}
