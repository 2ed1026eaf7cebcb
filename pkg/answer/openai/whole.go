package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/answer/remote"
)

// maxWholeBytes bounds an answer in one piece.
const maxWholeBytes = 4 << 20

func isJSON(h http.Header) bool {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// readWhole reads an answer in one piece, which is what servers and models that cannot stream give all the same.
func readWhole(res *http.Response, r *remote.Reply) error {
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxWholeBytes))
	if err != nil {
		return err
	}
	var got struct {
		event
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return fmt.Errorf("reading an answer in one piece: %w", err)
	}
	if len(got.Error) > 0 && string(got.Error) != "null" {
		return remote.ReadStatus(0, raw)
	}
	if len(got.Choices) == 0 {
		return remote.ErrNoModel
	}
	var said speech
	finish, err := read(got.event, r, &said)
	if err == nil {
		err = r.Pass(said.close())
	}
	if err != nil {
		return err
	}
	if finish == "" { // some leave it out; JSON that could be read is whole
		finish = "stop"
	}
	return ended(finish, r)
}
