package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
)

const extractUsage = `usage: sluice ingestor extract [--format text|blocks|chunks] [--mime TYPE] [--chunk-tokens N] [--max-chunk-tokens N] FILE…
  --format text     print the text; table cells are separated by tabs (default)
  --format blocks   print a JSON object with the file's metadata, and its blocks with their positions
  --format chunks   print a JSON object with the file's metadata and the chunks that would be indexed
  --chunk-tokens N, --max-chunk-tokens N   target and maximum size of chunks in tokens (default: as in a new datastore)
  --mime TYPE       media type of the file (default: detected from name and content)
Prints what ingestion extracts from files, with the same limits (SLUICE_EXTRACT_MEMORY, SLUICE_EXTRACT_TIMEOUT). No
running service is needed. Warnings go to standard error. Exits with 1 if a file cannot be read.`

// Output formats of the extract command.
const (
	formatText   = "text"
	formatBlocks = "blocks"
	formatChunks = "chunks"
)

// Extract returns a command that prints files' text as ingestion would see it. `open` returns an extractor and a
// chunker for the given settings.
func Extract(p *cli.Program, open func(config.Config) (*extract.Extractor, *chunk.Chunker)) *cobra.Command {
	return p.Plain("extract FILE…", "Print the text that ingestion extracts from files", func(ctx context.Context, args []string) error {
		return runExtract(ctx, p, open, args)
	})
}

func runExtract(ctx context.Context, p *cli.Program, open func(config.Config) (*extract.Extractor, *chunk.Chunker), args []string) error {
	out, errs := p.Out, p.Err
	flags := flag.NewFlagSet("extract", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	format := flags.String("format", formatText, "")
	mime := flags.String("mime", "", "")
	var sizes domain.Chunking
	flags.IntVar(&sizes.TargetTokens, "chunk-tokens", 0, "")
	flags.IntVar(&sizes.MaxTokens, "max-chunk-tokens", 0, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(out, extractUsage)
		return nil
	case err != nil:
		return cli.Misusedf("%w\n%s", err, extractUsage)
	case flags.NArg() == 0:
		return cli.Misusedf("specify a file\n%s", extractUsage)
	case *format != formatText && *format != formatBlocks && *format != formatChunks:
		return cli.Misusedf("--format %q: must be %s, %s or %s\n%s", *format, formatText, formatBlocks, formatChunks, extractUsage)
	}
	if faults := sizes.Check(); len(faults) > 0 {
		flag := map[string]string{domain.FieldTargetTokens: "--chunk-tokens", domain.FieldMaxTokens: "--max-chunk-tokens"}[faults[0].Field]
		return cli.Misusedf("%s %s", flag, faults[0].Message)
	}
	c, err := config.ParseEnviron(p.Environ)
	if err != nil {
		return cli.WithExit(cli.Misused, err)
	}
	reader, chunker := open(c)
	defer reader.Close()
	chunker = chunker.Sized(sizes)
	failed := 0
	for _, file := range flags.Args() {
		// For text output, print table rows as tab-separated cells. "column: value" rows are hard to read in a terminal
		// and to compare with the output from other tools.
		doc, err := readFile(ctx, reader, extract.Request{Path: file, Name: file, Declared: *mime, PlainRows: *format == formatText})
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err = fmt.Errorf("%s: %s", file, oneLineCause(err)); flags.NArg() == 1 {
				return err
			}
			fmt.Fprintf(errs, "sluice ingestor: %v\n", err)
			failed++
			continue
		}
		for _, w := range doc.Warnings {
			fmt.Fprintf(errs, "sluice ingestor: %s: warning: %s\n", file, w)
		}
		if *format == formatText {
			if flags.NArg() > 1 {
				fmt.Fprintf(out, "==> %s <==\n", file)
			}
			_, err = io.WriteString(out, domain.JoinBlocks(doc.Blocks)+"\n")
		} else {
			err = writeExtracted(out, file, doc, *format == formatChunks, chunker)
		}
		if err != nil {
			return fmt.Errorf("writing the content of %s: %w", file, err)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %s could not be read", failed, cli.Counted(flags.NArg(), "file"))
	}
	return nil
}

// readFile extracts a file. It opens the file in this process first, because the child process would word the error for
// a missing file differently.
func readFile(ctx context.Context, reader *extract.Extractor, req extract.Request) (*domain.Document, error) {
	f, err := os.Open(req.Path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return reader.Extract(ctx, req)
}

// oneLineCause explains in one line why a file cannot be read.
func oneLineCause(err error) string {
	var refused *extract.Error
	var path *fs.PathError
	switch {
	case errors.As(err, &refused):
		return refused.Message
	case errors.As(err, &path):
		return path.Err.Error()
	}
	return err.Error()
}

// extractedBlock is a block's JSON form.
type extractedBlock struct {
	Kind   domain.BlockKind `json:"kind"`
	Text   string           `json:"text"`
	Level  int              `json:"level,omitempty"`
	Path   []string         `json:"headings,omitempty"`
	Page   int              `json:"page,omitempty"`
	Sheet  string           `json:"sheet,omitempty"`
	Row    int              `json:"row,omitempty"`
	Time   string           `json:"time,omitempty"`
	Offset int              `json:"offset"`
	Links  []extractedLink  `json:"links,omitempty"`
	// Confidence is set for text recognised in an image within the document.
	Confidence float64 `json:"confidence,omitempty"`
}

type extractedLink struct {
	Text string `json:"text,omitempty"`
	URL  string `json:"url"`
}

// extractedChunk is a chunk's JSON form.
type extractedChunk struct {
	Ordinal int    `json:"ordinal"`
	Text    string `json:"text"`
	Context string `json:"context,omitempty"`
	Heading string `json:"heading,omitempty"`
	Page    int    `json:"page,omitempty"`
	Offset  int    `json:"offset"`
	Tokens  int    `json:"tokens"`
}

// extracted is a document's JSON form.
type extracted struct {
	File string `json:"file"`
	domain.Document
	Blocks []extractedBlock `json:"blocks,omitempty"`
	Chunks []extractedChunk `json:"chunks,omitempty"`
}

func writeExtracted(out io.Writer, file string, doc *domain.Document, chunks bool, chunker *chunk.Chunker) error {
	e := extracted{File: file, Document: *doc}
	if chunks {
		named := *doc
		if named.Title == "" { // as ingestion does, using the datasource's name, which is usually the file name
			named.Title = filepath.Base(file)
		}
		cut, err := chunker.Chunks(&named)
		if err != nil {
			return err
		}
		for _, k := range cut {
			e.Chunks = append(e.Chunks, extractedChunk{
				Ordinal: k.Ordinal, Text: k.Text, Context: k.Context, Heading: k.Heading, Page: k.Page, Offset: k.Offset, Tokens: k.Tokens,
			})
		}
	} else {
		var at domain.HeadingPath
		for _, b := range doc.Blocks {
			at.Enter(b)
			p := extractedBlock{
				Kind: b.Kind, Text: b.Text, Level: b.Level, Path: at.Parents(b), Page: b.Page, Sheet: b.Sheet, Row: b.Row, Time: b.Time, Offset: b.Offset, Confidence: b.Confidence,
			}
			for _, l := range b.Links {
				p.Links = append(p.Links, extractedLink{Text: l.Text, URL: l.URL})
			}
			e.Blocks = append(e.Blocks, p)
		}
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(e)
}
