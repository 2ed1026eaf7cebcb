package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/filter"
)

// filterFlags holds the flags that restrict a search.
type filterFlags struct {
	metadata, customIDs, datasourceIDs []string
}

func (f *filterFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.metadata, "filter", nil,
		"search only documents with this metadata, as `key=value` or as a condition in JSON, such as\n"+
			"'{\"type\":\"gte\",\"key\":\"year\",\"value\":2025}'; repeatable; if a key is repeated, any of its values may match")
	cmd.Flags().StringArrayVar(&f.customIDs, "custom-id", nil, "search only documents with this custom `id`; repeatable")
	cmd.Flags().StringArrayVar(&f.datasourceIDs, "datasource", nil, "search only the datasource with this `id`; repeatable")
}

func (f *filterFlags) filters() (*client.Filters, error) {
	if len(f.metadata)+len(f.customIDs)+len(f.datasourceIDs) == 0 {
		return nil, nil
	}
	out := &client.Filters{}
	if len(f.customIDs) > 0 {
		out.CustomIds = &f.customIDs
	}
	if len(f.datasourceIDs) > 0 {
		out.DatasourceIds = &f.datasourceIDs
	}
	metadata, err := f.conditions(out)
	if err != nil {
		return nil, err
	}
	if len(metadata) > 0 {
		wanted := map[string]any{}
		for _, kv := range metadata {
			key, value, ok := strings.Cut(kv, "=")
			if !ok || key == "" || value == "" {
				return nil, Misusedf("--filter %q: must be key=value", kv)
			}
			values, _ := wanted[key].([]any)
			wanted[key] = append(values, alternatives(value)...)
		}
		out.Metadata = &wanted
	}
	return out, nil
}

// conditions parses the --filter values that are JSON conditions and stores them in `out`. It returns the other
// --filter values.
func (f *filterFlags) conditions(out *client.Filters) (others []string, err error) {
	var all []any
	for _, text := range f.metadata {
		if !strings.HasPrefix(strings.TrimSpace(text), "{") {
			others = append(others, text)
			continue
		}
		var condition any
		if err := json.Unmarshal([]byte(text), &condition); err != nil {
			return nil, Misusedf("--filter %q: must be key=value, or a condition as JSON: %v", text, err)
		}
		all = append(all, condition)
	}
	if len(all) == 0 {
		return others, nil
	}
	one := all[0]
	if len(all) > 1 {
		one = map[string]any{"type": "and", "filters": all}
	}
	if _, faults := filter.Parse(one, "--filter"); len(faults) > 0 {
		return nil, Misusedf("%s: %s", faults[0].Field, faults[0].Message)
	}
	data, err := json.Marshal(one)
	if err != nil {
		return nil, fmt.Errorf("encoding --filter: %w", err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("decoding --filter: %w", err)
	}
	return others, nil
}

// alternatives returns the metadata values that the text may stand for: the string itself and, if it looks like a
// number or boolean, that value.
func alternatives(value string) []any {
	var scalar any
	if json.Unmarshal([]byte(value), &scalar) == nil {
		switch scalar.(type) {
		case float64, bool:
			return []any{value, scalar}
		}
	}
	return []any{value}
}

func (p *Program) queryCommand() *cobra.Command {
	var where ConnectionFlags
	var store, mode string
	var topK, perDocument, offset int
	var minScore float64
	var queries []string
	var rerank, full bool
	var filter filterFlags
	cmd := &cobra.Command{
		Use: "query TEXT [--datastore DATASTORE]", Short: "Search a datastore", GroupID: GroupUse,
		Long: "Find the passages that best match a query, with their scores (0 to 1) and locations. --datastore can be left out if\n" +
			"there is only one datastore.",
		Example: "sluice query \"error E-23\" --datastore Handbook --mode lexical --top-k 3 --filter team=pumps\n" +
			"sluice query \"warranty\" --datastore Handbook --json | jq -r .[0].text",
		Args: wantsText("query"),
	}
	cmd.RunE = p.connected(&where, func(ctx context.Context, c *client.Client, args []string) error {
		q := client.DatastoreQuery{
			Query: strings.Join(args, " "), TopK: ptrOrNil(topK), MaxPerDatasource: ptrOrNil(perDocument), Mode: ptrOrNil(client.SearchMode(mode)),
			MinScore: ptrOrNil(minScore),
		}
		if cmd.Flags().Changed("rerank") {
			q.Rerank = &rerank
		}
		if cmd.Flags().Changed("offset") {
			q.Offset = &offset
		}
		if len(queries) > 0 {
			q.Queries = &queries
		}
		var err error
		if q.Filters, err = filter.filters(); err != nil {
			return err
		}
		wanted := store
		if wanted == "" {
			if wanted, err = onlyDatastore(ctx, c, "specify a datastore:", nil); err != nil {
				return err
			}
		}
		d, err := datastore(ctx, c, wanted)
		if err != nil {
			return err
		}
		found, err := c.QueryDatastore(ctx, d.Id, q)
		if err != nil {
			return err
		}
		if p.JSON {
			if found == nil {
				found = []client.Fragment{}
			}
			return p.PrintJSON(found)
		}
		writeFragments(p.Out, found, offset, full)
		return nil
	})
	cmd.Flags().StringVar(&store, "datastore", "", "`datastore` to search, by id or name")
	cmd.Flags().IntVar(&topK, "top-k", 0, "number of results, 1 to 100 (default 5)")
	cmd.Flags().StringVar(&mode, "mode", "", "search `mode`: lexical, dense or hybrid (default hybrid)")
	cmd.Flags().StringArrayVar(&queries, "also", nil, "another `query`, searched together with the first; repeatable")
	cmd.Flags().IntVar(&offset, "offset", 0, "number of results to skip")
	cmd.Flags().Float64Var(&minScore, "min-score", 0, "minimum score of a result, 0 to 1")
	cmd.Flags().IntVar(&perDocument, "max-per-datasource", 0, "maximum results from one datasource")
	cmd.Flags().BoolVar(&rerank, "rerank", false,
		"use the reranker; --rerank=false turns it off (default: use it if there is one)")
	cmd.Flags().BoolVar(&full, "full", false, "show the full text of each result")
	filter.flags(cmd)
	where.Flags(cmd)
	return cmd
}

func wantsText(noun string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if strings.TrimSpace(strings.Join(args, " ")) == "" {
			return Misusedf("the %s is empty", noun)
		}
		return nil
	}
}

// Maximum length in characters of a fragment in short output.
const snippet = 240

// writeFragments prints the fragments with their ranks. `offset` is the number of better results left out.
func writeFragments(w io.Writer, found []client.Fragment, offset int, full bool) {
	if len(found) == 0 {
		fmt.Fprintln(w, "No results.")
		return
	}
	fmt.Fprintln(w, "RANK  SCORE  SOURCE")
	for i, f := range found {
		fmt.Fprintf(w, "%4d  %.3f  %s\n", offset+i+1, f.Score, oneLine(cmp.Or(f.Source, f.DatasourceName)))
		text := oneLine(f.Text)
		if full {
			text = strings.ReplaceAll(strings.TrimSpace(Printable(f.Text)), "\n", "\n             ")
		} else if r := []rune(text); len(r) > snippet {
			text = string(r[:snippet]) + "…"
		}
		fmt.Fprintf(w, "             %s\n", text)
	}
}
