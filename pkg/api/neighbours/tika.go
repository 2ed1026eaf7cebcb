package neighbours

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/domain"
)

// Media types used in Tika's responses.
const (
	typeText = "text/plain"
	typeJSON = "application/json"
)

// tikaHello serves GET /tika, which clients call to check whether the server is running.
func (h *Handler) tikaHello(c *gin.Context) error {
	return h.writeText(c, "This is Sluice. PUT a file here to get its text, as from Apache Tika's server.\n")
}

// tikaVersion serves GET /version.
func (h *Handler) tikaVersion(c *gin.Context) error { return h.writeText(c, "Sluice "+h.Version+"\n") }

// tika serves PUT /tika and POST /tika/form. The response is the file's text or, if the client accepts only JSON, an
// object with the text and the file's properties.
func (h *Handler) tika(c *gin.Context) error { return h.answerTika(c, typeText) }

// tikaText serves PUT /tika/text and POST /tika/form/text. Like Tika's server, it answers with JSON unless the client
// asks for text.
func (h *Handler) tikaText(c *gin.Context) error { return h.answerTika(c, typeJSON) }

func (h *Handler) answerTika(c *gin.Context, preferred string) error {
	kind, err := accepted(c.GetHeader("Accept"), preferred)
	if err != nil {
		return err
	}
	file, err := h.convert(c)
	switch {
	case err != nil:
		return refuse(c, err)
	case kind == typeText:
		return h.writeText(c, domain.JoinBlocks(file.Blocks)+"\n")
	}
	return h.writeJSON(c, tikaObject(file))
}

// tikaRecursive serves PUT /rmeta and the paths below it. The response is a list with a single object for the whole
// file. Its text includes the text from embedded files, such as attachments.
func (h *Handler) tikaRecursive(c *gin.Context) error {
	if _, err := accepted(c.GetHeader("Accept"), typeJSON); err != nil {
		return err
	}
	file, err := h.convert(c)
	if err != nil {
		return refuse(c, err)
	}
	return h.writeJSON(c, []map[string]any{tikaObject(file)})
}

// accepted returns the media type for the response. It is `preferred` if the client accepts that; otherwise it is the
// last supported type in the Accept header. Quality values are ignored, because Tika's clients don't send them.
func accepted(accept, preferred string) (string, error) {
	if strings.TrimSpace(accept) == "" {
		return preferred, nil
	}
	found := ""
	for item := range strings.SplitSeq(accept, ",") {
		kind, _, err := mime.ParseMediaType(item)
		switch {
		case err != nil:
		case kind == "*/*", kind == preferred, kind == strings.SplitN(preferred, "/", 2)[0]+"/*":
			return preferred, nil
		case kind == typeText || kind == typeJSON || kind == "text/*":
			if found = kind; kind == "text/*" {
				found = typeText
			}
		}
	}
	if found == "" {
		return "", domain.Errorf(domain.CodeUnsupported, "the Accept header is %s, but the response can only be %s or %s", jsonbody.Describe(accept), typeText, typeJSON)
	}
	return found, nil
}

// tikaObject returns a file's text and properties under Tika's names.
func tikaObject(file converted) map[string]any {
	o := map[string]any{
		"Content-Type": file.MIMEType, "Content-Length": strconv.FormatInt(file.size, 10),
		"X-TIKA:Parsed-By": []string{"sluice"}, "X-TIKA:content": domain.JoinBlocks(file.Blocks) + "\n",
	}
	for name, value := range map[string]string{
		"resourceName": file.name, "dc:title": file.Title, "dc:language": file.Language,
		"dc:creator": file.Metadata[domain.MetaAuthor], "dc:description": file.Metadata[domain.MetaDescription],
		"dcterms:created": tikaTime(file.Metadata[domain.MetaCreated]), "dcterms:modified": tikaTime(file.Metadata[domain.MetaModified]),
		"meta:keyword": file.Metadata[domain.MetaKeywords],
	} {
		if value != "" {
			o[name] = value
		}
	}
	if file.Pages > 0 {
		o["xmpTPg:NPages"] = strconv.Itoa(file.Pages)
	}
	return o
}

// tikaTime formats a time for Tika's clients. A date without a time becomes the first second of that day.
func tikaTime(text string) string {
	if len(text) == len("2006-01-02") {
		return text + "T00:00:00Z"
	}
	return text
}

func (h *Handler) writeText(c *gin.Context, text string) error {
	h.write(c, typeText+"; charset=utf-8", text)
	return nil
}

func (h *Handler) writeJSON(c *gin.Context, v any) error {
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding the response: %w", err)
	}
	h.write(c, typeJSON, string(encoded))
	return nil
}

func (h *Handler) write(c *gin.Context, contentType, body string) {
	c.Header("Content-Type", contentType)
	c.Header("Content-Length", strconv.Itoa(len(body)))
	c.Header("Cache-Control", "no-store")
	c.Status(http.StatusOK)
	// Write in chunks, because the time limit applies per write. An error means that the client has disconnected.
	_, _ = io.Copy(struct{ io.Writer }{transfer.TimedWriter(c.Writer, h.WriteTimeout)}, strings.NewReader(body))
}
