package pull

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// download fetches one file.
type download struct {
	config        Config
	url           string
	file          File
	path          string
	before, total int64 // bytes of the model's other files on disk, and of the whole model; for Progress
}

// permanentError is an error that retries cannot fix.
type permanentError struct{ error }

// run fetches the file or, if part of it is on disk, the rest. Errors say what is wrong and what to do.
func (d *download) run(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return fmt.Errorf("creating its directory: %w", err)
	}
	wait := firstPause
	for attempt := 1; ; attempt++ {
		err := d.attempt(ctx)
		var final permanentError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &final):
			return final.error
		case attempt == d.config.Attempts:
			return fmt.Errorf("%w (after %d attempts; pull again to resume)", err, attempt)
		}
		if err := d.config.Pause(ctx, wait/2+rand.N(wait/2+1)); err != nil {
			return err
		}
		wait = min(2*wait, maxPause)
	}
}

// attempt requests the missing remainder of the file and verifies the whole file.
func (d *download) attempt(ctx context.Context) error {
	file, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return permanentError{fmt.Errorf("opening the partial file: %w", err)}
	}
	defer file.Close()
	have, err := file.Seek(0, io.SeekEnd)
	if err == nil && have > d.file.Size {
		have, err = 0, file.Truncate(0)
	}
	if err != nil {
		return permanentError{fmt.Errorf("reading the partial file: %w", err)}
	}
	switch {
	case have == d.file.Size:
	case d.file.Content != "":
		if _, err := file.WriteString(d.file.Content[have:]); err != nil {
			return permanentError{fmt.Errorf("writing to disk: %w", err)}
		}
	default:
		if err := d.fetch(ctx, file, have); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return permanentError{fmt.Errorf("writing to disk: %w", err)}
	}
	d.config.Progress(d.before+d.file.Size, d.total)
	err = d.file.check(d.path)
	if err == nil {
		return nil
	}
	// The file was damaged in transit or is from another version, so start over.
	if err := file.Truncate(0); err != nil {
		return permanentError{fmt.Errorf("emptying a damaged file: %w", err)}
	}
	if errors.Is(err, errMismatch) && have == 0 {
		return permanentError{err} // the whole file came in one response, so the server has a different file
	}
	return err
}

// fetch appends the missing remainder to a file that already has this many bytes.
func (d *download) fetch(ctx context.Context, file *os.File, have int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := fmt.Errorf("the server sent no data for %s", d.config.Stall)
	watch := time.AfterFunc(d.config.Stall, func() { cancel(stalled) })
	defer watch.Stop()
	err := d.receive(ctx, file, have, func() { watch.Reset(d.config.Stall) })
	if errors.Is(context.Cause(ctx), stalled) {
		return stalled
	}
	return err
}

// receive sends the request and writes the response to the file. It calls `alive` whenever data arrives.
func (d *download) receive(ctx context.Context, file *os.File, have int64, alive func()) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return permanentError{fmt.Errorf("making the request: %w", err)}
	}
	request.Header.Set("User-Agent", "Sluice")
	request.Header.Set("Accept-Encoding", "identity") // make ranges and sizes refer to the file itself
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	response, err := d.config.Client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	alive()
	switch {
	case response.StatusCode == http.StatusOK:
		have = 0
	case response.StatusCode == http.StatusPartialContent && have > 0 && rangeStart(response.Header) == have:
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable, response.StatusCode == http.StatusPartialContent:
		if err := file.Truncate(0); err != nil {
			return permanentError{fmt.Errorf("restarting the download: %w", err)}
		}
		return fmt.Errorf("the server cannot resume at byte %d", have)
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode == http.StatusRequestTimeout, response.StatusCode >= 500:
		return fmt.Errorf("the server answered %s", response.Status)
	default:
		return permanentError{fmt.Errorf("the server answered %s", response.Status)}
	}
	if err := file.Truncate(have); err != nil {
		return permanentError{fmt.Errorf("restarting the download: %w", err)}
	}
	if _, err := file.Seek(have, io.SeekStart); err != nil {
		return permanentError{fmt.Errorf("resuming the download: %w", err)}
	}
	return d.copy(file, response.Body, have, alive)
}

// copy writes the response to the file. It fails if the response ends early or would make the file larger than the
// published one.
func (d *download) copy(file *os.File, body io.Reader, have int64, alive func()) error {
	buffer := make([]byte, 128<<10)
	for {
		n, err := body.Read(buffer)
		alive()
		if have += int64(n); have > d.file.Size {
			return permanentError{fmt.Errorf("the server sent more than the expected %d bytes", d.file.Size)}
		}
		if _, err := file.Write(buffer[:n]); err != nil {
			return permanentError{fmt.Errorf("writing the received bytes: %w", err)}
		}
		d.config.Progress(d.before+have, d.total)
		switch {
		case errors.Is(err, io.EOF) && have < d.file.Size:
			return fmt.Errorf("the response ended after %d of %d bytes", have, d.file.Size)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// rangeStart returns the offset at which a partial response starts, or -1 if unknown.
func rangeStart(header http.Header) int64 {
	rest, ok := strings.CutPrefix(header.Get("Content-Range"), "bytes ")
	first, _, dash := strings.Cut(rest, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	if !ok || !dash || err != nil {
		return -1
	}
	return start
}
