//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
)

func run(context.Context, []string, io.Writer, io.Writer) error {
	return errors.New("only Linux can run this command")
}
