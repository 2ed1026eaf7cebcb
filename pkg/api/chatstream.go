package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/sluice/sluice/pkg/answer"
)

// completion is one chat completion: what all of its chunks have in common.
type completion struct {
	id, model string
	created   int64
	usage     bool // the stream says what was used
}

// chatChunk is a piece of a streamed completion. Its form is OpenAI's, to the field that is null and not missing.
type chatChunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chunkPiece `json:"choices"`

	Usage json.RawMessage `json:"usage,omitempty"` // null in all chunks but the last of a stream that says what was used

	Sources        *[]Source `json:"sources,omitempty"` // these come with the finish reason
	ConversationID string    `json:"conversationId,omitempty"`
	VisitorID      string    `json:"visitorId,omitempty"`
}

type chunkPiece struct {
	Index        int                     `json:"index"`
	Delta        chunkDelta              `json:"delta"`
	Logprobs     *string                 `json:"logprobs"`
	FinishReason *ChatChoiceFinishReason `json:"finish_reason"`
}

type chunkDelta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

func (c completion) chunk(pieces ...chunkPiece) chatChunk {
	chunk := chatChunk{ID: c.id, Object: "chat.completion.chunk", Created: c.created, Model: c.model, Choices: pieces}
	if c.usage {
		chunk.Usage = json.RawMessage("null")
	}
	return chunk
}

// whole is the completion of an answer that was not streamed.
func (c completion) whole(a answer.Answer) ChatCompletion {
	choice := ChatChoice{FinishReason: finishOf(a)}
	choice.Message.Role, choice.Message.Content = ChatChoiceMessageRoleAssistant, a.Text
	out := ChatCompletion{
		Id: c.id, Object: ChatCompletionObjectChatCompletion, Created: c.created, Model: c.model,
		Choices: []ChatChoice{choice}, Usage: usageOf(a), Sources: renderSources(a.Sources), ConversationId: optional(a.ConversationID),
	}
	if out.ConversationId != nil {
		out.VisitorId = &a.VisitorID
	}
	return out
}

func finishOf(a answer.Answer) ChatChoiceFinishReason {
	if a.Cut {
		return ChatChoiceFinishReasonLength
	}
	return ChatChoiceFinishReasonStop
}

func usageOf(a answer.Answer) ChatUsage {
	return ChatUsage{PromptTokens: a.PromptTokens, CompletionTokens: a.CompletionTokens, TotalTokens: a.PromptTokens + a.CompletionTokens}
}

// streamChat answers a turn in chunks: the role, the text, the reason of the end with the sources, what was used if that
// was asked for, and the mark of the end.
func (s *server) streamChat(ctx context.Context, w http.ResponseWriter, t *turn, c completion) error {
	events := newEventStream(w, s.opts.WriteTimeout)
	stop := events.keepAlive(s.opts.Heartbeat)
	defer stop()
	send := func(chunk any) error {
		encoded, err := json.Marshal(chunk)
		if err != nil {
			return fmt.Errorf("encoding a chunk: %w", err)
		}
		return events.send("", string(encoded))
	}
	begun := false
	begin := func() error {
		if begun {
			return nil
		}
		begun = true
		return send(c.chunk(chunkPiece{Delta: chunkDelta{Role: string(ChatMessageRoleAssistant), Content: new("")}}))
	}
	answer, err := t.answer(ctx, func(text string) error {
		if err := begin(); err != nil {
			return err
		}
		return send(c.chunk(chunkPiece{Delta: chunkDelta{Content: &text}}))
	})
	if err == nil {
		err = begin()
	}
	if err == nil {
		err = c.finish(send, answer)
	}
	if err == nil {
		return events.send("", "[DONE]")
	}
	stop() // after it only this function writes, and the stream stays as it is: open or not
	if !events.isOpen() || ctx.Err() != nil {
		return err
	}
	s.metrics.streamed.Inc()
	e := s.explain(ctx, err)
	kind, code := openAIKind(e)
	return send(openAIError(e.Message, kind, code, e.Fields))
}

// finish sends what comes behind the text.
func (c completion) finish(send func(chunk any) error, a answer.Answer) error {
	reason := finishOf(a)
	last := c.chunk(chunkPiece{FinishReason: &reason})
	sources := renderSources(a.Sources)
	last.Sources, last.ConversationID = &sources, a.ConversationID
	if last.ConversationID != "" {
		last.VisitorID = a.VisitorID
	}
	if err := send(last); err != nil || !c.usage {
		return err
	}
	usage, err := json.Marshal(usageOf(a))
	if err != nil {
		return fmt.Errorf("encoding the usage: %w", err)
	}
	used := c.chunk([]chunkPiece{}...)
	used.Choices, used.Usage = []chunkPiece{}, usage
	return send(used)
}
