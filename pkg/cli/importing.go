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

// Maximum documents and bytes of text per unit of an import.
const (
	unitDocuments = 100
	unitBytes     = 1 << 20
)

// importFlags are the flags of import.
type importFlags struct {
	ingestOptions
	site                             bool
	text, name, id, source, metadata string
}

func (p *Program) importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:     "import FILE.jsonl|FILE.json|LIST.txt|FOLDER --datastore DATASTORE",
		Short:   "Bring in an export, JSON documents or a list of addresses",
		GroupID: GroupUse, DisableFlagsInUseLine: true,
		Long: "Bring in documents that another system has exported: JSON objects, one after the other (JSONL) or in an array, or an\n" +
			"export whose objects hold them in lists (datastores, datasources, documents, data, items …), as Chaindesk's do; a list of\n" +
			"web addresses, one a line; or a folder, as ingest does. - reads standard input.\n\n" +
			"A document's text is looked for under text, content, pageContent, page_content, body and config.text; its name under\n" +
			"name and title; its id under custom_id, id and _id; its source under source, url and config.source_url. A document with an\n" +
			"address and without a text is a page that the service fetches. The id becomes the custom id: by it the next run knows what\n" +
			"is there, sends only what is new or has changed, and replaces that. A document without one has an id made of its content.",
		Example: "sluice import export.json --datastore Handbook --create\n" +
			"sluice import articles.jsonl --datastore Articles --text-field body --id-field slug\n" +
			"sluice import addresses.txt --datastore Web\nzcat dump.jsonl.gz | sluice import - --datastore Articles",
		Args: Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return Fault(cmd.Context(), p.importFrom(cmd.Context(), f, args[0]))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.text, "text-field", "", "`field` that has the text; a dot leads into an object: body.plain")
	flags.StringVar(&f.name, "name-field", "", "`field` that has the name")
	flags.StringVar(&f.id, "id-field", "", "`field` that tells a document from all others")
	flags.StringVar(&f.source, "source-field", "", "`field` that says where it is from")
	flags.StringVar(&f.metadata, "metadata-field", "", "`field` with an object that queries can filter by")
	flags.BoolVar(&f.site, "site", false, "the addresses of a list are web sites")
	f.flags(cmd)
	return cmd
}

// fields returns the field names from the flags.
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
			return WithExit(NotFound, fmt.Errorf("there is no file %q; - reads what is piped in", path))
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
			s.leave(u.name, u.why)
			continue
		}
		s.out.Found++
		s.fail(u.name, "", u.why)
	}
	return p.printOutcome(ctx, s, err)
}

// documents detects the format of a file from its start.
func (f importFlags) documents(in *bufio.Reader) (iter.Seq2[*document, error], error) {
	var begin rune
	for {
		r, _, err := in.ReadRune()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("is empty")
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
	return nil, Misusedf("holds neither JSON objects nor web addresses; sluice ingest takes documents of other kinds")
}

// groupUnits groups texts that are sent together. Unusable documents are reported and skipped.
func groupUnits(docs iter.Seq2[*document, error], unusable func(*errUnusable)) iter.Seq2[[]*document, error] {
	return func(yield func([]*document, error) bool) {
		var unit []*document
		size := 0
		seen, seed := map[uint64]bool{}, maphash.MakeSeed() // of two documents with the same id, always the same one must be kept
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
				unusable(&errUnusable{name: d.name, why: "has the same id as a document before it: " + d.key, left: true})
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
