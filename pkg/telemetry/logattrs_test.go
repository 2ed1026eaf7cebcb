package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestLogLinesSayWhatTheirContextIsAbout(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(RedactingHandler(slog.NewTextHandler(&out, nil), domain.Secrets{}))
	ctx := WithLogAttrs(t.Context(), slog.String("request", "r1"))
	job := WithLogAttrs(ctx, slog.String("datasource", "d1"), slog.String("job", "j1"))
	other := WithLogAttrs(ctx, slog.String("datasource", "d2"))
	line := func(ctx context.Context, args ...any) string {
		out.Reset()
		log.WarnContext(ctx, "something", args...)
		return out.String()
	}
	for name, c := range map[string]struct {
		got        string
		has, lacks []string
	}{
		"nothing is known":        {line(t.Context()), nil, []string{"request", "datasource"}},
		"a request":               {line(ctx), []string{"request=r1"}, []string{"datasource"}},
		"a job of the request":    {line(job), []string{"request=r1", "datasource=d1", "job=j1"}, nil},
		"another of it":           {line(other), []string{"request=r1", "datasource=d2"}, []string{"d1", "job"}},
		"the line says it itself": {line(job, "datasource", "d3"), []string{"datasource=d3", "request=r1"}, []string{"d1"}},
		"the innermost counts":    {line(WithLogAttrs(job, slog.String("datasource", "d4"))), []string{"datasource=d4"}, []string{"d1"}},
		"a key among them":        {line(WithLogAttrs(ctx, slog.String("datasource", "sk_"+strings.Repeat("a1", 32)))), []string{"request=r1"}, []string{strings.Repeat("a1", 32)}},
	} {
		for _, want := range c.has {
			if !strings.Contains(c.got, want) {
				t.Errorf("%s: the line lacks %s: %s", name, want, c.got)
			}
		}
		for _, not := range c.lacks {
			if strings.Contains(c.got, not) {
				t.Errorf("%s: the line has %s: %s", name, not, c.got)
			}
		}
	}
}
