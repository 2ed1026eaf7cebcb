package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/answer/remote"
	"github.com/sluice/sluice/pkg/bounded"
)

// Maximum size in bytes of a response that is not streamed.
const maxWholeBytes = 4 << 20

func isJSON(h http.Header) bool {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// readWhole reads a response that isn't streamed, which some servers and models send even if a stream was requested.
func readWhole(body io.Reader, r *remote.Reply) error {
	raw, err := bounded.ReadAll(body, maxWholeBytes)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return remote.ErrCut
	}
	var got event
	if err := json.Unmarshal(raw, &got); err != nil {
		return fmt.Errorf("reading an answer in one piece: %w", err)
	}
	if got.failed() {
		return remote.ReadStatus(0, raw)
	}
	if len(got.Choices) == 0 {
		return remote.ErrNoModel
	}
	var said answerWriter
	finish, err := read(got, r, &said)
	if err == nil {
		err = r.Pass(said.close())
	}
	if err != nil {
		return err
	}
	if finish == "" { // some servers omit it, but parsed JSON is complete
		finish = "stop"
	}
	return finishError(finish, r)
}
