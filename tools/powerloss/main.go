// Command powerloss cuts the power of a simulated disk while Sluice is running on it, and checks that no acknowledged
// data is lost. The disk has a volatile write cache: blocks that the file system has not flushed may be lost.
// Meanwhile, documents are written, updated and deleted over the REST API. Each power cut yields an image of the disk,
// with none, a random half or all of the unflushed blocks. The command mounts the image, starts Sluice on it and
// compares every acknowledged document. First, it runs a control: the same test on a file system that never flushes. If
// the control loses nothing, the command fails, because the test couldn't detect a loss.
//
// The command needs Linux, root, /dev/fuse, loop devices and mkfs.ext4. It runs in its own mount and PID namespaces, so
// no mounts or processes are left behind even if it is killed.
//
//	go run ./tools/powerloss [-api bin/sluice] [-images 100] [-seed N] [-skip]
package main

import "github.com/sluice/sluice/tools/internal/bench"

func main() { bench.Main("powerloss", run) }
