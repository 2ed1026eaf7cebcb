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

// download is the fetching of one file.
type download struct {
	config        Config
	url           string
	file          File
	path          string
	before, total int64 // of the whole model's bytes, for Progress
}

// refusal is an answer that will not be another one for asking again.
type refusal struct{ error }

// run fetches the file, going on with what is there of it. Its errors say what is wrong and the way out.
func (d *download) run(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return fmt.Errorf("making its directory: %w", err)
	}
	wait := firstPause
	for attempt := 1; ; attempt++ {
		err := d.attempt(ctx)
		var final refusal
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &final):
			return final.error
		case attempt == d.config.Attempts:
			return fmt.Errorf("%w (tried %d times; pull again to go on where it stopped)", err, attempt)
		}
		if err := d.config.Pause(ctx, wait/2+rand.N(wait/2+1)); err != nil {
			return err
		}
		wait = min(2*wait, maxPause)
	}
}

// attempt makes one request for what is missing of the file, and checks the whole.
func (d *download) attempt(ctx context.Context) error {
	file, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return refusal{fmt.Errorf("opening what is there: %w", err)}
	}
	defer file.Close()
	have, err := file.Seek(0, io.SeekEnd)
	if err == nil && have > d.file.Size {
		have, err = 0, file.Truncate(0)
	}
	if err != nil {
		return refusal{fmt.Errorf("reading what is there: %w", err)}
	}
	if have < d.file.Size {
		if err := d.fetch(ctx, file, have); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return refusal{fmt.Errorf("writing to disk: %w", err)}
	}
	d.config.Progress(d.before+d.file.Size, d.total)
	err = d.file.check(d.path)
	if err == nil {
		return nil
	}
	// Damaged on the way, or left over from another time: not worth going on with.
	if err := file.Truncate(0); err != nil {
		return refusal{fmt.Errorf("emptying a damaged file: %w", err)}
	}
	if errors.Is(err, errDiffers) && have == 0 {
		return refusal{err} // all of it came in one answer: the server has another file
	}
	return err
}

// fetch appends to file what it lacks, have bytes being there.
func (d *download) fetch(ctx context.Context, file *os.File, have int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := fmt.Errorf("the server sent nothing for %s", d.config.Stall)
	watch := time.AfterFunc(d.config.Stall, func() { cancel(stalled) })
	defer watch.Stop()
	err := d.receive(ctx, file, have, func() { watch.Reset(d.config.Stall) })
	if errors.Is(context.Cause(ctx), stalled) {
		return stalled
	}
	return err
}

// receive makes the request and writes its answer. alive is called whenever something arrives.
func (d *download) receive(ctx context.Context, file *os.File, have int64, alive func()) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return refusal{fmt.Errorf("making the request: %w", err)}
	}
	request.Header.Set("User-Agent", "Sluice")
	request.Header.Set("Accept-Encoding", "identity") // ranges and sizes are of the file itself
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
			return refusal{fmt.Errorf("beginning anew: %w", err)}
		}
		return fmt.Errorf("the server does not go on at byte %d", have)
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode == http.StatusRequestTimeout, response.StatusCode >= 500:
		return fmt.Errorf("the server answers %s", response.Status)
	default:
		return refusal{fmt.Errorf("the server answers %s", response.Status)}
	}
	if err := file.Truncate(have); err != nil {
		return refusal{fmt.Errorf("beginning anew: %w", err)}
	}
	if _, err := file.Seek(have, io.SeekStart); err != nil {
		return refusal{fmt.Errorf("going on where it stopped: %w", err)}
	}
	return d.copy(file, response.Body, have, alive)
}

// copy writes what the server sends, no more than the file has.
func (d *download) copy(file *os.File, body io.Reader, have int64, alive func()) error {
	buffer := make([]byte, 128<<10)
	for {
		n, err := body.Read(buffer)
		alive()
		if have += int64(n); have > d.file.Size {
			return refusal{fmt.Errorf("the server sends more than the %d bytes that the file has", d.file.Size)}
		}
		if _, err := file.Write(buffer[:n]); err != nil {
			return refusal{fmt.Errorf("writing what has arrived: %w", err)}
		}
		d.config.Progress(d.before+have, d.total)
		switch {
		case errors.Is(err, io.EOF) && have < d.file.Size:
			return fmt.Errorf("the answer ended after %d of %d bytes", have, d.file.Size)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// rangeStart is the first byte of a partial answer, -1 if it does not say.
func rangeStart(header http.Header) int64 {
	rest, ok := strings.CutPrefix(header.Get("Content-Range"), "bytes ")
	first, _, dash := strings.Cut(rest, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	if !ok || !dash || err != nil {
		return -1
	}
	return start
}
