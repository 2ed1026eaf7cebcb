package inspect

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/domain"
)

const planUsage = `usage: sluice crawler plan [--sitemap URL] [--fetch] [--max-pages N] [--max-depth N] [--include PATTERN]… [--exclude PATTERN]… [--json] [URL]
  URL               root of the site; optional with --sitemap
  --sitemap URL     sitemap that lists the pages (default: look for one; if there is none, follow links)
  --fetch           fetch each page that the sitemap lists, and show the result
  --max-pages N     maximum number of pages (default: SLUICE_LIMIT_PAGES)
  --max-depth N     maximum link depth from the root
  --include PATTERN, --exclude PATTERN   paths to include or exclude, as in a datasource's configuration; repeatable
  --json            print one JSON object per line, for each address and then for the summary
Previews which addresses a crawl would fetch, and why. Nothing is stored, and pages are not parsed, so damaged files
and pages without text are not detected. Each line has the decision (page, listed, duplicate, skipped, error or left
out), the number of links from the root, the address, and the reason. Requests are as polite as in a crawl. No running
service is needed. The crawler's settings apply, such as SLUICE_CRAWL_DELAY and SLUICE_USER_AGENT. Exits with 1 if the
site cannot be read.`

// Plan returns a command that prints a site's crawl plan. `open` returns a crawler, which doesn't coordinate its
// requests with other crawlers, and a function to close it.
func Plan(p *cli.Program, open func(config.Config) (crawler *crawl.Crawler, stop func() error, err error)) *cobra.Command {
	return p.Plain("plan [URL]", "Preview which addresses a crawl would fetch, and why", func(ctx context.Context, args []string) error {
		return runPlan(ctx, p, open, args)
	})
}

func runPlan(ctx context.Context, p *cli.Program, open func(config.Config) (*crawl.Crawler, func() error, error), args []string) (err error) {
	out, errs := p.Out, p.Err
	flags := flag.NewFlagSet("plan", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	var site domain.DatasourceConfig
	flags.StringVar(&site.Sitemap, "sitemap", "", "")
	fetch := flags.Bool("fetch", false, "")
	asJSON := flags.Bool("json", false, "")
	flags.IntVar(&site.MaxPages, "max-pages", 0, "")
	flags.IntVar(&site.MaxDepth, "max-depth", 0, "")
	repeated := func(into *[]string) func(string) error {
		return func(s string) error { *into = append(*into, s); return nil }
	}
	flags.Func("include", "", repeated(&site.Include))
	flags.Func("exclude", "", repeated(&site.Exclude))
	err = flags.Parse(args)
	site.SourceURL = flags.Arg(0)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(out, planUsage)
		return nil
	case err != nil:
		return cli.Misusedf("%w\n%s", err, planUsage)
	case flags.NArg() > 1:
		return cli.Misusedf("unexpected argument %q: name one site, after the flags\n%s", flags.Arg(1), planUsage)
	case site.SourceURL == "" && site.Sitemap == "":
		return cli.Misusedf("specify a site or --sitemap\n%s", planUsage)
	case site.MaxPages < 0:
		return cli.Misusedf("--max-pages %d: must be at least 1", site.MaxPages)
	case site.MaxDepth < 0:
		return cli.Misusedf("--max-depth %d: must be at least 1", site.MaxDepth)
	}
	c, err := config.ParseEnviron(p.Environ)
	if err != nil {
		return cli.WithExit(cli.Misused, err)
	}
	site.MaxPages = cmp.Or(site.MaxPages, c.LimitPages)
	c.LimitPages = max(c.LimitPages, site.MaxPages)
	planner, stop, err := open(c)
	if err != nil {
		return cli.WithExit(cli.Misused, err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	w := bufio.NewWriter(out)
	emit := func(e crawl.PlanEntry) error { return writePlanned(w, e) }
	if *asJSON {
		lines := json.NewEncoder(w)
		lines.SetEscapeHTML(false)
		emit = func(e crawl.PlanEntry) error { return errors.Join(lines.Encode(e), w.Flush()) }
	}
	sum, err := planner.Plan(ctx, crawl.PlanRequest{
		Spec:  domain.CrawlSpec{URL: site.SourceURL, Sitemap: site.Sitemap, Site: site.Scope(true)},
		Limit: site.MaxPages, Check: *fetch,
	}, emit)
	if err != nil {
		if refused, ok := errors.AsType[*crawl.Error](err); ok {
			err = errors.New(refused.Message)
		}
		return errors.Join(err, w.Flush())
	}
	for _, problem := range sum.Problems {
		fmt.Fprintf(errs, "sluice crawler: warning: %s\n", problem)
	}
	if *asJSON {
		err = json.NewEncoder(w).Encode(struct {
			Summary crawl.PlanSummary `json:"summary"`
		}{sum})
	} else {
		err = writePlanSummary(w, sum)
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return nil
}

// writePlanned writes one address and flushes it, because the next may take a while.
func writePlanned(w *bufio.Writer, e crawl.PlanEntry) error {
	reason := ""
	if e.Reason != "" {
		reason = "  " + strings.Map(printable, e.Reason)
	}
	fmt.Fprintf(w, "%-9s %3d  %s%s\n", e.Decision, e.Depth, strings.Map(printable, e.URL), reason)
	return w.Flush()
}

// printable replaces control characters in a site's text, because they could manipulate the terminal.
func printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return ' '
	}
	return r
}

func writePlanSummary(w io.Writer, sum crawl.PlanSummary) error {
	var b strings.Builder
	how := "found by links from " + sum.Root
	if !sum.Follow {
		how = "listed in " + cli.Counted(sum.Sitemaps, "sitemap file")
		if !sum.Complete {
			how += ", which " + cli.OneOrMany(sum.Sitemaps, "does", "do") + " not list every page"
		}
	}
	fmt.Fprintf(&b, "\n%d %s, %s\n", sum.Addresses, cli.OneOrMany(sum.Addresses, "address", "addresses"), how)
	for _, d := range []crawl.Decision{crawl.PlanPage, crawl.PlanListed, crawl.PlanDuplicate, crawl.PlanSkipped, crawl.PlanError, crawl.PlanLeftOut} {
		if n := sum.Decisions[d]; n > 0 {
			fmt.Fprintf(&b, "%9d  %s\n", n, d)
		}
	}
	if len(sum.Reasons) > 0 {
		b.WriteString("Reasons (an address that is left out is counted once for each page that links to it):\n")
		for _, why := range slices.SortedFunc(maps.Keys(sum.Reasons), func(x, y string) int {
			if n := sum.Reasons[y] - sum.Reasons[x]; n != 0 {
				return n
			}
			return strings.Compare(x, y)
		}) {
			fmt.Fprintf(&b, "%9d  %s\n", sum.Reasons[why], why)
		}
	}
	if n := sum.Decisions[crawl.PlanPage]; n > 0 {
		fmt.Fprintf(&b, "The pages were not parsed, so a crawl can still fail on damaged pages and pages without text. %d of %s %s in a format other than HTML.\n",
			sum.Documents, cli.Counted(n, "page"), cli.OneOrMany(sum.Documents, "is", "are"))
	}
	fmt.Fprintf(&b, "A crawl takes at least %s, with %s between requests.\n", sum.Time.Round(time.Second), sum.Delay)
	_, err := io.WriteString(w, b.String())
	return err
}
