package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/openaiaccount"
)

// importOpenAIFlags holds the flags of the command that imports vector stores from OpenAI.
type importOpenAIFlags struct {
	ingestOptions
	store, from string
	all         bool
}

func (p *Program) importOpenAICommand() *cobra.Command {
	var f importOpenAIFlags
	cmd := &cobra.Command{
		Use:   "openai --vector-store ID | --all",
		Short: "Copy vector stores from OpenAI", DisableFlagsInUseLine: true,
		Long: "Copy the files of one or all vector stores from an OpenAI account, or from another server with OpenAI's API. Set\n" +
			"OPENAI_API_KEY to the account's key; the account is not changed. Each vector store becomes a datastore with the same\n" +
			"name, unless --datastore names another. A file's attributes become its metadata, and its id becomes its custom id, so\n" +
			"the next run continues an interrupted one. OpenAI does not return files with the purpose assistants, so their text\n" +
			"is read from the vector store. At the end, the command compares the number of files on both sides.",
		Example: "OPENAI_API_KEY=sk-… sluice import openai --vector-store vs_abc123\n" +
			"sluice import openai --all --from http://127.0.0.1:8321/v1",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return Fault(cmd.Context(), p.importOpenAI(cmd.Context(), f))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.store, "vector-store", "", "`id` of the vector store")
	flags.BoolVar(&f.all, "all", false, "import all vector stores of the account")
	flags.StringVar(&f.from, "from", openaiaccount.DefaultURL, "`address` of the account's API")
	f.flags(cmd)
	return cmd
}

func (p *Program) importOpenAI(ctx context.Context, f importOpenAIFlags) error {
	switch {
	case f.all == (f.store != ""):
		return Misusedf("specify either --vector-store with an id, or --all")
	case f.all && f.datastore != "":
		return Misusedf("--datastore cannot be combined with --all: each vector store becomes a datastore with its name")
	}
	c, err := config.ParseEnviron(p.Environ)
	if err != nil {
		return WithExit(Misused, err)
	}
	if c.OpenAIKey == "" && f.from == openaiaccount.DefaultURL {
		return Misusedf("set OPENAI_API_KEY to the key of the account")
	}
	account, err := openaiaccount.New(openaiaccount.Config{URL: f.from, Key: c.OpenAIKey})
	if err != nil {
		return Misusedf("--from: %w", err)
	}
	defer account.Close()
	if f.store != "" {
		store, err := account.VectorStore(ctx, f.store)
		if err != nil {
			return accountFault(err)
		}
		return p.importStore(ctx, f, account, store, cmp.Or(f.datastore, store.Name, store.ID))
	}
	return p.importStores(ctx, f, account)
}

// importStores imports all of the account's vector stores. If one fails because of its own files, the import continues
// with the next one.
func (p *Program) importStores(ctx context.Context, f importOpenAIFlags, account *openaiaccount.Account) error {
	var stores []openaiaccount.VectorStore
	named := map[string]int{}
	for store, err := range account.VectorStores(ctx) {
		if err != nil {
			return accountFault(err)
		}
		stores = append(stores, store)
		named[store.Name]++
	}
	if len(stores) == 0 {
		return WithExit(NotFound, errors.New("the account has no vector stores"))
	}
	var partly error
	for _, store := range stores {
		name := cmp.Or(store.Name, store.ID)
		if named[store.Name] > 1 && name != store.ID {
			name += " (" + store.ID + ")"
		}
		if err := p.importStore(ctx, f, account, store, name); err != nil {
			if ExitOf(err) != Partly {
				return err
			}
			partly = err
		}
	}
	return partly
}

// importStore imports one vector store into the datastore with this id or name.
func (p *Program) importStore(ctx context.Context, f importOpenAIFlags, account *openaiaccount.Account, store openaiaccount.VectorStore, datastore string) error {
	f.datastore, f.create = datastore, f.create || f.datastore == "" // a datastore not named by the user may be new
	s, err := p.open(ctx, f.ingestOptions)
	if err != nil {
		return err
	}
	defer s.client.Close()
	temp, err := os.MkdirTemp("", "sluice-import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	found := accountFiles{account: account, store: store, stored: s.stored, temp: temp}
	var missing error
	if err = accountFault(s.run(ctx, found.documents(ctx))); err == nil {
		missing, err = found.verify(ctx, s)
	}
	if err := p.printOutcome(ctx, s, err); err != nil {
		return err
	}
	return missing
}

// verify checks whether the datastore contains all of the vector store's files. If not, `missing` is an error that says
// how many are missing. A non-nil err means that the comparison failed.
func (a *accountFiles) verify(ctx context.Context, s *upload) (missing, err error) {
	now, err := a.account.VectorStore(ctx, a.store.ID)
	if err != nil {
		return nil, accountFault(err)
	}
	stored, err := readStoredDocuments(ctx, s.client, s.storeID)
	if err != nil {
		return nil, err
	}
	v := &verification{Files: now.Counts.Total}
	for _, id := range a.ids {
		d := cmp.Or(stored.latest(documentKey{client.DatasourceTypeFile, customID(id)}), stored.latest(documentKey{client.DatasourceTypeText, customID(id)}))
		if d == nil {
			continue
		}
		if v.Stored++; d.status == client.DatasourceStatusSynched {
			v.Searchable++
		}
	}
	s.out.Verified = v
	listed := int64(len(a.ids))
	switch {
	case v.Files != listed:
		missing = WithExit(Partly, fmt.Errorf("the vector store has %s, but %d were listed: it changed in the meantime; run the command again", Counted(v.Files, "file"), listed))
	case v.Stored < listed:
		missing = WithExit(Partly, fmt.Errorf("%s of the vector store could not be added, for the reasons above", Counted(listed-v.Stored, "file")))
	}
	return missing, nil
}

// accountFault adds an exit code to an error from the OpenAI account's API.
func accountFault(err error) error {
	if err == nil {
		return nil
	}
	if _, isOurs := errors.AsType[*Error](err); isOurs {
		return err
	}
	if _, ok := errors.AsType[*openaiaccount.Unreachable](err); ok {
		return WithExit(Unavailable, fmt.Errorf("%w; check that --from has the right address", err))
	}
	switch openaiaccount.StatusOf(err) {
	case 0:
		return err
	case http.StatusUnauthorized, http.StatusForbidden:
		return WithExit(Forbidden, fmt.Errorf("%w; set OPENAI_API_KEY to a valid API key for the account", err))
	case http.StatusNotFound:
		return WithExit(NotFound, err)
	default:
		return WithExit(Unavailable, err)
	}
}

// accountFiles reads a vector store's files.
type accountFiles struct {
	account *openaiaccount.Account
	store   openaiaccount.VectorStore
	stored  *storedDocuments
	temp    string
	ids     []string // ids of the listed files
}

// documents yields one unit per file in the vector store. Files are fetched when their unit is sent, several at a time.
func (a *accountFiles) documents(ctx context.Context) iter.Seq2[[]*document, error] {
	return func(yield func([]*document, error) bool) {
		for f, err := range a.account.Files(ctx, a.store.ID) {
			if err != nil {
				yield(nil, err)
				return
			}
			a.ids = append(a.ids, f.ID)
			if !yield([]*document{a.document(f)}, nil) {
				return
			}
		}
	}
}

// document returns the document for a file in the vector store. Its content is fetched later.
func (a *accountFiles) document(f openaiaccount.StoreFile) *document {
	d := &document{name: f.ID, kind: client.DatasourceTypeFile, key: customID(f.ID), found: true}
	for name, value := range f.Attributes {
		if d.metadata == nil {
			d.metadata = map[string]any{}
		}
		if name == "custom_id" { // custom_id has a special meaning here
			name = "attribute_custom_id"
		}
		d.metadata[name] = value
	}
	dir := filepath.Join(a.temp, d.key)
	d.fetch = func(ctx context.Context) error { return a.fetch(ctx, f, d, dir) }
	d.drop = func() { _ = os.RemoveAll(dir) } // the whole directory is removed at the end
	return d
}

// fetch downloads the file or, if OpenAI doesn't allow that, its extracted text. If the datastore already has the file,
// fetch does nothing, because files at OpenAI never change.
func (a *accountFiles) fetch(ctx context.Context, f openaiaccount.StoreFile, d *document, dir string) error {
	for _, kind := range []client.DatasourceType{client.DatasourceTypeFile, client.DatasourceTypeText} {
		old := a.stored.latest(documentKey{kind, d.key})
		if old == nil {
			continue
		}
		d.name = old.name
		if kind == client.DatasourceTypeText {
			d.kind, d.text = kind, d.asText(old.name, "")
		}
		if d.digest = old.digest; d.equals(*old) {
			return nil
		}
		d.kind, d.text, d.digest = client.DatasourceTypeFile, nil, ""
	}
	about, err := a.account.File(ctx, f.ID)
	if err != nil {
		return a.unusable(d, f, err)
	}
	d.name = cmp.Or(filepath.Base(filepath.Clean("/"+about.Name)), f.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, safeName(d.name))
	err = a.account.Download(ctx, f.ID, path)
	if err == nil {
		d.path = path
		return nil
	}
	if !openaiaccount.ConcernsObject(err) {
		return err
	}
	text, textErr := a.account.Text(ctx, a.store.ID, f.ID)
	switch {
	case textErr == nil && strings.TrimSpace(text) == "":
		return a.unusable(d, f, fmt.Errorf("%w; the vector store does not have the file's text either", err))
	case textErr != nil && !openaiaccount.ConcernsObject(textErr):
		return textErr
	case textErr != nil:
		return a.unusable(d, f, fmt.Errorf("%w; its text: %w", err, textErr))
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	sum := sha256.Sum256([]byte(text))
	d.kind, d.digest, d.text = client.DatasourceTypeText, hex.EncodeToString(sum[:]), d.asText(d.name, text)
	return nil
}

func (d *document) asText(name, text string) *client.Document {
	return &client.Document{Text: text, Name: ptrOrNil(cut(name)), Metadata: &client.Document_Metadata{CustomId: &d.key, AdditionalProperties: d.metadata}}
}

// unusable returns an errUnusable for a file that can't be imported. If OpenAI couldn't read the file either, the file
// counts as skipped instead of failed. Errors that concern the whole account are returned unchanged.
func (a *accountFiles) unusable(d *document, f openaiaccount.StoreFile, err error) error {
	if !openaiaccount.ConcernsObject(err) {
		return err
	}
	why := err.Error()
	if f.LastError != nil && f.LastError.Message != "" {
		why += "; OpenAI's error: " + f.LastError.Message
	}
	return &errUnusable{name: d.name, why: why, left: f.Status == "failed" || f.Status == "cancelled"}
}

// safeName turns a name into one that all file systems accept, keeping the extension.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	const limit = 120 // bytes; file systems allow 255
	if len(name) > limit {
		extension := filepath.Ext(name)
		if len(extension) > 20 {
			extension = ""
		}
		name = strings.ToValidUTF8(name[:limit-len(extension)], "") + extension
	}
	return name
}
