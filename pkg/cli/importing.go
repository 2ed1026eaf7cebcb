package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"os"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/client"
)

// Limits on an import unit, whose documents are sent together: the number of documents and the bytes of text.
const (
	unitDocuments = 100
	unitBytes     = 1 << 20
)

type importFlags struct {
	ingestOptions
	site                             bool
	text, name, id, source, metadata string
}

func (p *Program) importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:     "import FILE.jsonl|FILE.json|LIST.txt|FOLDER --datastore DATASTORE",
		Short:   "Add documents from an export or a list of addresses",
		GroupID: GroupUse, DisableFlagsInUseLine: true,
		Long: "Add documents from another system's export, a list of web addresses (one per line), or a folder, as ingest does. An\n" +
			"export contains JSON objects: one after the other (JSONL), in an array, or in nested lists such as datastores or\n" +
			"documents, as in Chaindesk's exports. Use - for standard input.\n\n" +
			"These fields are used by default (the first one present):\n\n" +
			"  Text:    text, content, pageContent, page_content, body, config.text\n" +
			"  Name:    name, title, metadata.title\n" +
			"  Id:      custom_id, customId, config.custom_id, metadata.custom_id, id, _id\n" +
			"  Source:  source, url, source_url, config.source_url, metadata.source\n\n" +
			"The service fetches documents that have a web address but no text. The id, or a hash of the content if there is none,\n" +
			"becomes the custom id, so the next run sends only new and changed documents.",
		Example: "sluice import articles.jsonl --datastore Articles --text-field body --id-field slug\n" +
			"sluice import addresses.txt --datastore Web\nzcat dump.jsonl.gz | sluice import - --datastore Articles",
		Args: Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return Fault(cmd.Context(), p.importFrom(cmd.Context(), f, args[0]))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.text, "text-field", "", "`field` that holds the text; body.plain is the field plain of the object body")
	flags.StringVar(&f.name, "name-field", "", "`field` that holds the name")
	flags.StringVar(&f.id, "id-field", "", "`field` that holds the unique id")
	flags.StringVar(&f.source, "source-field", "", "`field` that holds the source")
	flags.StringVar(&f.metadata, "metadata-field", "", "`field` that holds an object of metadata for filtering queries")
	flags.BoolVar(&f.site, "site", false, "crawl the whole site at each address in the list")
	f.flags(cmd)
	cmd.AddCommand(p.importOpenAICommand())
	return cmd
}

// fields returns the field names given by the flags.
func (f importFlags) fields() fields {
	all := defaultFields()
	for _, one := range []struct {
		flag  string
		field *[]string
	}{{f.text, &all.text}, {f.name, &all.name}, {f.id, &all.id}, {f.source, &all.source}, {f.metadata, &all.metadata}} {
		if one.flag != "" {
			*one.field = []string{one.flag}
		}
	}
	return all
}

func (p *Program) importFrom(ctx context.Context, f importFlags, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return p.ingest(ctx, ingestFlags{ingestOptions: f.ingestOptions}, []string{path})
	}
	var in io.Reader
	if path == "-" {
		in = p.Input(ctx)
	} else {
		file, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			return WithExit(NotFound, fmt.Errorf("file %q does not exist; use - for standard input", path))
		}
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	docs, err := f.documents(bufio.NewReaderSize(in, 64<<10))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s, err := p.open(ctx, f.ingestOptions)
	if err != nil {
		return err
	}
	defer s.client.Close()
	var unusable []*errUnusable
	err = s.run(ctx, groupUnits(docs, func(e *errUnusable) { unusable = append(unusable, e) }))
	for _, u := range unusable {
		if u.left {
			s.skip(u.name, u.why)
			continue
		}
		s.out.Found++
		s.fail(u.name, "", u.why)
	}
	return p.printOutcome(ctx, s, err)
}

// documents detects a file's format from its first bytes and returns its documents.
func (f importFlags) documents(in *bufio.Reader) (iter.Seq2[*document, error], error) {
	var begin rune
	for {
		r, _, err := in.ReadRune()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty")
		}
		if err != nil {
			return nil, err
		}
		if r != '\uFEFF' && !unicode.IsSpace(r) {
			begin = r
			break
		}
	}
	if err := in.UnreadRune(); err != nil {
		return nil, err
	}
	switch begin {
	case '{', '[':
		return readDocuments(in, f.fields()), nil
	case 'h', '#':
		return readAddresses(in, func(address string) (*document, error) { return page(address, f.site, client.DatasourceConfigCreate{}) }), nil
	}
	return nil, Misusedf("the file has neither JSON objects nor web addresses: add other documents with sluice ingest")
}

// groupUnits groups text documents into units. It calls `unusable` for each document it has to skip.
func groupUnits(docs iter.Seq2[*document, error], unusable func(*errUnusable)) iter.Seq2[[]*document, error] {
	return func(yield func([]*document, error) bool) {
		var unit []*document
		size := 0
		seen, seed := map[uint64]bool{}, maphash.MakeSeed() // hashes of the ids so far; if several documents have the same id, every run must keep the first
		flush := func() bool {
			if len(unit) == 0 {
				return true
			}
			goesOn := yield(unit, nil)
			unit, size = nil, 0
			return goesOn
		}
		for d, err := range docs {
			var bad *errUnusable
			switch {
			case errors.As(err, &bad):
				unusable(bad)
				continue
			case err != nil:
				if flush() {
					yield(nil, err)
				}
				return
			}
			key := maphash.String(seed, string(d.kind)+" "+d.key)
			if seen[key] {
				unusable(&errUnusable{name: d.name, why: "has the same id as an earlier document: " + d.key, left: true})
				continue
			}
			seen[key] = true
			weight := 0
			if d.text != nil {
				weight = len(d.text.Text)
			}
			if len(unit) == unitDocuments || size+weight > unitBytes && len(unit) > 0 {
				if !flush() {
					return
				}
			}
			unit, size = append(unit, d), size+weight
		}
		flush()
	}
}
