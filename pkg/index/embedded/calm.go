package embedded

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// calmly makes of f what a goroutine of its own may run: a panic becomes the error of whoever waits for it, and does not end the
// process with all that others do in it.
func calmly(f func() error) func() error {
	return func() (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				slog.Default().Error("a part of the index's work panicked", "panic", cause, "stack", string(debug.Stack()))
				err = fmt.Errorf("the index failed while working on it: %v", cause)
			}
		}()
		return f()
	}
}
