package neighbours

import (
	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/domain"
)

// loaded is a document in the format of Open WebUI's external document loader.
type loaded struct {
	Content  string         `json:"page_content"`
	Metadata map[string]any `json:"metadata"`
}

// process serves PUT /process. Each page becomes a separate document, so that Open WebUI can cite pages.
func (h *Handler) process(c *gin.Context) error {
	file, err := h.convert(c)
	if err != nil {
		return refuse(c, err)
	}
	numbers, texts := pagesOf(file.Document)
	if len(texts) == 0 {
		return h.writeJSON(c, loaded{domain.JoinBlocks(file.Blocks), loaderMetadata(file)})
	}
	pages := make([]loaded, len(texts))
	for i, text := range texts {
		pages[i] = loaded{text, loaderMetadata(file)}
		pages[i].Metadata["page"] = numbers[i] - 1 // Open WebUI counts from 0
		pages[i].Metadata["page_label"] = numbers[i]
		pages[i].Metadata["total_pages"] = max(file.Pages, numbers[len(numbers)-1])
	}
	return h.writeJSON(c, pages)
}

// loaderMetadata returns the file's properties under the names used by LangChain's loaders.
func loaderMetadata(file converted) map[string]any {
	m := map[string]any{"Content-Type": file.MIMEType}
	for name, value := range map[string]string{
		"source": file.name, "title": file.Title, "language": file.Language, "author": file.Metadata[domain.MetaAuthor],
		"creationdate": file.Metadata[domain.MetaCreated], "moddate": file.Metadata[domain.MetaModified],
	} {
		if value != "" {
			m[name] = value
		}
	}
	return m
}
