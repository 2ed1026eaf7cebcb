package events

import (
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/domain"
)

// terminal returns the name of a response's last event. OpenAI documents none for a cancelled response.
func terminal(status domain.ResponseStatus) string {
	switch status {
	case domain.ResponseCompleted:
		return "response.completed"
	case domain.ResponseFailed:
		return "response.failed"
	default:
		return "response.incomplete"
	}
}

// end queues the events that complete the output items, followed by the last event.
func (w *Writer) end(r object.Response) error {
	if r.Status != domain.ResponseFailed {
		for i, item := range r.Output {
			if err := w.complete(i, item); err != nil {
				return err
			}
		}
	}
	if !w.Results {
		r = r.WithoutResults()
	}
	// If the process crashed, the client may already have received events with higher numbers. Those are not sent
	// again, but the last event must be, so give it a number that the client has not seen.
	w.sequence = max(w.sequence, w.After+1)
	return w.event(terminal(r.Status), func(h header) any { return responseEvent{h, r} })
}

// complete queues the events that end a message or a function call.
func (w *Writer) complete(index int, item object.Item) error {
	if index >= len(w.output) {
		return nil // the answer ended before it began
	}
	switch item.Type {
	case object.TypeMessage:
		return w.completeMessage(index, item)
	case object.TypeFunctionCall:
		err := w.event("response.function_call_arguments.done", func(h header) any {
			return struct {
				header
				at
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			}{h, w.place(index), item.Name, item.Arguments}
		})
		if err == nil {
			err = w.done(index, item)
		}
		return err
	default:
		return nil // a search has already been completed
	}
}

func (w *Writer) completeMessage(index int, item object.Item) error {
	if len(item.Content) == 0 {
		return w.done(index, item)
	}
	part := item.Content[0]
	for i, annotation := range part.Annotations {
		err := w.event("response.output_text.annotation.added", func(h header) any {
			return struct {
				header
				at
				ContentIndex    int               `json:"content_index"`
				AnnotationIndex int               `json:"annotation_index"`
				Annotation      object.Annotation `json:"annotation"`
			}{h, w.place(index), 0, i, annotation}
		})
		if err != nil {
			return err
		}
	}
	err := w.event("response.output_text.done", func(h header) any {
		return struct {
			header
			at
			ContentIndex int      `json:"content_index"`
			Text         string   `json:"text"`
			Logprobs     []string `json:"logprobs"`
		}{h, w.place(index), 0, part.Text, []string{}}
	})
	if err == nil {
		err = w.event("response.content_part.done", func(h header) any { return partEvent{h, w.place(index), 0, part} })
	}
	if err == nil {
		err = w.done(index, item)
	}
	return err
}
