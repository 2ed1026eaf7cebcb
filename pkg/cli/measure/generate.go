package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/eval/generate"
	"github.com/sluice/sluice/pkg/eval/service"
)

const maxGenerated = generate.MaxQuestions

// generateQuestions generates questions from the datastore's content and writes them. If the model server fails, it
// writes the questions it has so far.
func (p commands) generateQuestions(ctx context.Context, sluice *service.Service, c config.Config, s evalSettings) error {
	out, errs := p.Out, p.Err
	if c.ChatModel == "" {
		return cli.WithExit(cli.Misused, errors.New("--generate needs a chat model: set SLUICE_CHAT_MODEL, and OPENAI_BASE_URL (such as http://localhost:11434/v1), OPENAI_API_KEY "+
			"or ANTHROPIC_API_KEY; or write questions by hand (sluice eval --help)"))
	}
	model, err := p.chat(c)
	if err != nil {
		return cli.WithExit(cli.Misused, err)
	}
	file := io.WriteCloser(nopCloser{out})
	if s.out != "" {
		// Don't overwrite a question set that someone may have edited.
		f, err := os.OpenFile(s.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			return cli.Misusedf("--out %s exists already: name a new file", s.out)
		}
		if err != nil {
			return err
		}
		file = f
	}
	show := cli.NewProgress(errs)
	r, err := generate.Run(ctx, sluice, asking{model}, generate.Options{
		DatastoreID: s.datastore, Questions: s.generate, Concurrency: s.concurrency,
		Progress: func(made, dropped, wanted int) { show.Update(int64(made), int64(dropped), int64(wanted)) },
	})
	show.End("")
	err = errors.Join(err, writeQuestions(file, r.Questions), file.Close())
	if s.out != "" && len(r.Questions) == 0 {
		err = errors.Join(err, os.Remove(s.out))
	}
	fmt.Fprintf(errs, "Generated %s from %s.\n", cli.Counted(len(r.Questions), "question"), cli.Counted(r.Chunks, "chunk"))
	for _, fault := range slices.Sorted(maps.Keys(r.Dropped)) {
		fmt.Fprintf(errs, "%5d dropped: %s\n", r.Dropped[fault], fault)
	}
	if r.Failed > 0 {
		fmt.Fprintf(errs, "%5d failed: %v\n", r.Failed, r.LastError)
	}
	if err == nil && len(r.Questions) == 0 {
		err = errors.New("no questions were generated")
	}
	return err
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func writeQuestions(w io.Writer, questions []generate.Question) error {
	buffer := bufio.NewWriter(w)
	lines := json.NewEncoder(buffer)
	lines.SetEscapeHTML(false)
	for _, q := range questions {
		if err := lines.Encode(q); err != nil {
			return fmt.Errorf("writing the questions: %w", err)
		}
	}
	if err := buffer.Flush(); err != nil {
		return fmt.Errorf("writing the questions: %w", err)
	}
	return nil
}

// asking implements generate.Model with a chat model.
type asking struct{ model chat.Model }

// Ask implements generate.Model.
func (a asking) Ask(ctx context.Context, system, user string) (string, error) {
	var text strings.Builder
	cold, limit := 0.0, 1000 // enough tokens for models that reason first
	_, err := a.model.Provider.Complete(ctx, chat.Prompt{
		Model: a.model.Name, System: system, Messages: []chat.Turn{{Role: domain.RoleUser, Text: user}},
		Params: chat.Params{Temperature: &cold, MaxTokens: &limit},
	}, func(piece string) error { text.WriteString(piece); return nil })
	return text.String(), err
}
