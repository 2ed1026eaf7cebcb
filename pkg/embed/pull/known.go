package pull

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Kind says what a model is used for.
type Kind string

// Kinds of models.
const (
	Embedding Kind = "embedding"
	Reranker  Kind = "reranker"
)

// Model describes a published model and its files.
type Model struct {
	Kind     Kind
	Name     string // name in Sluice and of the model's directory
	About    string // languages and anything else that helps users choose
	Licence  string // the publisher's licence
	Origin   string // owner and name on Hugging Face
	Revision string // commit in that repository
	Files    []File
}

// File describes one of a model's files.
type File struct {
	Name   string // path within the model's directory, with forward slashes
	Size   int64  // size in bytes
	SHA256 string // hexadecimal

	// Content is the content of a file that the publisher does not provide. It is written instead of downloaded.
	Content string
}

// Size returns the model's size in bytes.
func (m Model) Size() (total int64) {
	for _, f := range m.Files {
		total += f.Size
	}
	return total
}

// address returns a file's URL.
func (m Model) address(base string, f File) string {
	return base + "/" + m.Origin + "/resolve/" + m.Revision + "/" + f.Name
}

// Known returns the models that can be pulled.
func Known() []Model {
	return []Model{{
		Kind: Embedding, Name: "all-MiniLM-L6-v2", About: "English, 384 dimensions", Licence: "Apache-2.0",
		Origin: "sentence-transformers/all-MiniLM-L6-v2", Revision: "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
		Files: []File{
			{Name: "config.json", Size: 612, SHA256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"},
			{Name: "config_sentence_transformers.json", Size: 116, SHA256: "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"},
			{Name: "modules.json", Size: 349, SHA256: "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"},
			{Name: "1_Pooling/config.json", Size: 190, SHA256: "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"},
			{Name: "sentence_bert_config.json", Size: 53, SHA256: "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"},
			{Name: "tokenizer_config.json", Size: 350, SHA256: "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"},
			{Name: "tokenizer.json", Size: 466_247, SHA256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
			{Name: "model.safetensors", Size: 90_868_376, SHA256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
		},
	}, {
		Kind: Embedding, Name: "multilingual-e5-small", About: "100 languages, 384 dimensions", Licence: "MIT",
		Origin: "intfloat/multilingual-e5-small", Revision: "614241f622f53c4eeff9890bdc4f31cfecc418b3",
		Files: []File{
			{Name: "config.json", Size: 655, SHA256: "69137736cab8b8903a07fe8afaafdda25aac55415a12a55d1bffa9f581abf959"},
			prompts(`{"prompts": {"query": "query: ", "passage": "passage: "}}`), // as the model's description requires
			{Name: "modules.json", Size: 387, SHA256: "c6e29747481e8b5dd2b58401966aeac910de39092f90cda9a704b1545f902b04"},
			{Name: "1_Pooling/config.json", Size: 200, SHA256: "987f7a67a38fa564c849bb5d277c52ab9088a84368fc0be31a354125aebb12a0"},
			{Name: "sentence_bert_config.json", Size: 57, SHA256: "948201d8329907aae938fa62f9ceeed53f5694dacc2b87b9f3b78b37ee986529"},
			{Name: "tokenizer_config.json", Size: 443, SHA256: "a1d6bc8734a6f635dc158508bef000f8e2e5a759c7d92f984b2c86e5ff53425b"},
			{Name: "tokenizer.json", Size: 17_082_730, SHA256: "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"},
			{Name: "model.safetensors", Size: 470_641_600, SHA256: "1a55775f53449dac10a2bcbc312469fac40b96d53198c407081a831f81c98477"},
		},
	}, {
		Kind: Reranker, Name: "ms-marco-MiniLM-L6-v2", About: "reranker, English", Licence: "Apache-2.0",
		Origin: "cross-encoder/ms-marco-MiniLM-L6-v2", Revision: "c5ee24cb16019beea0893ab7796b1df96625c6b8",
		Files: []File{
			{Name: "config.json", Size: 794, SHA256: "380e02c93f431831be65d99a4e7e5f67c133985bf2e77d9d4eba46847190bacc"},
			{Name: "tokenizer_config.json", Size: 1330, SHA256: "a5c2e5a7b1a29a0702cd28c08a399b5ecc110c263009d17f7e3b415f25905fd8"},
			{Name: "tokenizer.json", Size: 711_396, SHA256: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"},
			{Name: "model.safetensors", Size: 90_870_598, SHA256: "821d1aa69520101d6e0737f78a042ae25b19e5cb9160701909d10434f4aeb0ae"},
		},
	}, {
		Kind: Reranker, Name: "mmarco-mMiniLMv2-L12-H384-v1", About: "reranker, 14 languages", Licence: "Apache-2.0",
		Origin: "cross-encoder/mmarco-mMiniLMv2-L12-H384-v1", Revision: "1427fd652930e4ba29e8149678df786c240d8825",
		Files: []File{
			{Name: "config.json", Size: 891, SHA256: "cc2cfe51aa3fd759d21d21acf5dfd6994aa67a3c9210636d22e143699d336c77"},
			{Name: "tokenizer_config.json", Size: 435, SHA256: "e7fbfbfa6347b4e414c1cee50d142e2c2f9a895dad68b068ae83a8b564c3837e"},
			{Name: "tokenizer.json", Size: 17_082_660, SHA256: "62c24cdc13d4c9952d63718d6c9fa4c287974249e16b7ade6d5a85e7bbb75626"},
			{Name: "model.safetensors", Size: 470_592_698, SHA256: "5daeca2481a76b5976a2bdc32f0a78532b6716da4f8cd3ff59460ef8d2f359b4"},
		},
	}}
}

// prompts returns a config_sentence_transformers.json with this content, which holds the query and passage prefixes. It
// is for models published without that file.
func prompts(content string) File {
	sum := sha256.Sum256([]byte(content))
	return File{Name: "config_sentence_transformers.json", Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Content: content}
}

// Find returns the known model with this short name or Hugging Face name ("owner/name").
func Find(name string) (Model, bool) {
	known := Known()
	i := slices.IndexFunc(known, func(m Model) bool { return m.Name == name || m.Origin == name })
	if i < 0 {
		return Model{}, false
	}
	return known[i], true
}

// check returns an error unless the directory contains the published files.
func (m Model) check(directory string) error {
	for _, f := range m.Files {
		path := filepath.Join(directory, filepath.FromSlash(f.Name))
		if err := f.check(path); err != nil {
			return fmt.Errorf("%s exists, but is not the published model: %w; move the directory elsewhere and pull again", directory, err)
		}
	}
	return nil
}

// errMismatch means that a file differs from the published file.
var errMismatch = errors.New("differs from the published file")

// check compares a file with the published one. It returns errMismatch if the file has the right size but different
// content, and fs.ErrNotExist if the file is missing.
func (f File) check(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: %w", path, err)
	}
	if err != nil {
		return fmt.Errorf("reading the partial file: %w", err)
	}
	defer file.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(file, f.Size+1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if n != f.Size {
		return fmt.Errorf("%s has the wrong size; the published file has %d bytes", path, f.Size)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("%s %w: its SHA-256 is %s, not %s", path, errMismatch, got, f.SHA256)
	}
	return nil
}
