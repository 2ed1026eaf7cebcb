package natsd

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats-server/v2/server"
)

// Names of the server's files and directories. A stream's directory is jetstream/ACCOUNT/streams/NAME; a consumer's
// directory is obs/NAME within it.
const (
	metaFile      = "meta.inf" // configuration, as JSON
	sumFile       = "meta.sum" // its checksum
	stateFile     = "o.dat"    // a consumer's position
	consumersDir  = "obs"
	messagesDir   = "msgs" // blocks of messages
	blockSuffix   = ".blk"
	indexFile     = "index.db" // state of all blocks, in messagesDir
	objectsPrefix = "OBJ_"     // prefix of streams that hold originals
	streamsLevels = "jetstream/*/streams/*"
)

// removeDamaged checks the configurations of all streams and consumers, and the consumers' saved positions. It removes
// damaged ones so that their owners recreate them. Messages are kept: a recreated stream takes over the messages in its
// directory. removeDamaged must run while no server is using the directory.
//
// The server's own checks are weaker. If it cannot decode a consumer's configuration, it stops the consumer's whole
// stream ("stream is offline"). If it can, it uses the configuration without verifying the checksum. For a consumer's
// saved position, it allocates as much memory as the damaged file claims to need.
func (s *Server) removeDamaged() error {
	streams, err := filepath.Glob(filepath.Join(globEscape(s.opts.Dir), filepath.FromSlash(streamsLevels)))
	if err != nil {
		return fmt.Errorf("listing the NATS streams: %w", err)
	}
	for _, dir := range streams {
		if err := s.checkStream(dir); err != nil {
			return err
		}
	}
	return nil
}

// globEscape returns a pattern that matches only the given path.
func globEscape(path string) string {
	if os.PathSeparator == '\\' {
		return path // filepath.Glob has no escapes on Windows
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (s *Server) checkStream(dir string) error {
	name := filepath.Base(dir)
	if strings.HasPrefix(name, ".") {
		return nil // deleted; the server removes the rest
	}
	switch err := checkConfig[server.FileStreamInfo](dir, name); {
	case errors.Is(err, errNewer):
		return fmt.Errorf("the NATS stream %s in %s: %w: start the newer version again, or restore a backup that this version made", name, dir, err)
	case errors.Is(err, errDamaged):
		if err := removeConfig(dir); err != nil {
			return fmt.Errorf("removing the damaged configuration of the NATS stream %s: %w", name, err)
		}
		s.opts.Log.Warn("the configuration of a NATS stream was damaged; rewriting it", "stream", name, "damage", err)
	case err != nil:
		return fmt.Errorf("checking the NATS stream %s: %w", name, err)
	}
	if err := s.checkBlocks(dir, name); err != nil {
		return fmt.Errorf("checking the messages of the NATS stream %s: %w", name, err)
	}
	consumers, err := os.ReadDir(filepath.Join(dir, consumersDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listing the consumers of the NATS stream %s: %w", name, err)
	}
	for _, c := range consumers {
		if err := s.checkConsumer(filepath.Join(dir, consumersDir, c.Name()), name, c.Name()); err != nil {
			return fmt.Errorf("checking the NATS consumer %s of stream %s: %w", c.Name(), name, err)
		}
	}
	return nil
}

// checkBlocks removes a stream's index if a message's sequence number is damaged. Without the index, the server
// verifies the checksums of all messages, and drops the damaged message and all later ones in the same block. With the
// index, it would trust the damaged number and allocate memory for all sequence numbers up to it until the process is
// killed.
//
// The stream of originals isn't checked, because its blocks may take up hundreds of gigabytes.
func (s *Server) checkBlocks(dir, stream string) error {
	if strings.HasPrefix(stream, objectsPrefix) {
		return nil
	}
	blocks, err := os.ReadDir(filepath.Join(dir, messagesDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, b := range blocks {
		if filepath.Ext(b.Name()) != blockSuffix {
			continue
		}
		plausible, err := hasPlausibleSequences(filepath.Join(dir, messagesDir, b.Name()))
		if err != nil {
			return err
		}
		if !plausible {
			s.opts.Log.Warn("a block of a NATS stream is damaged; its messages up to the damage are kept", "stream", stream, "block", b.Name())
			if err := os.Remove(filepath.Join(dir, messagesDir, indexFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		}
	}
	return nil
}

// A message in a block begins with its size in bytes and its sequence number, both little-endian.
const (
	headerBytes    = 22
	headersFlag    = 1 << 31 // in the size: the message has headers
	tombstoneFlag  = 1 << 62 // in the sequence: the message was deleted
	erasedFlag     = 1 << 63 // in the sequence: the message was overwritten
	maxSequenceGap = 1 << 24 // above what a block can hold, and still cheap for the server
)

// hasPlausibleSequences returns false if a sequence number in a message block is far above the previous one. A block
// may end in the middle of a message, because the server detects that by itself.
func hasPlausibleSequences(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	var last uint64
	for {
		header, err := r.Peek(headerBytes)
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		size := binary.LittleEndian.Uint32(header) &^ headersFlag
		sequence := binary.LittleEndian.Uint64(header[4:])
		if size < headerBytes {
			return true, nil
		}
		if sequence&tombstoneFlag == 0 {
			sequence &^= erasedFlag
			if last > 0 && sequence > last+maxSequenceGap {
				return false, nil
			}
			last = sequence
		}
		if _, err := r.Discard(int(size)); err == io.EOF {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
}

func (s *Server) checkConsumer(dir, stream, name string) error {
	state, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !isConsumerState(state) {
		s.opts.Log.Warn("the position of a NATS consumer was damaged; recreating the consumer", "stream", stream, "consumer", name)
		return os.RemoveAll(dir)
	}
	err = checkConfig[server.FileConsumerInfo](dir, stream+"/"+name)
	if errors.Is(err, errDamaged) || errors.Is(err, errNewer) {
		s.opts.Log.Warn("the configuration of a NATS consumer was damaged; rewriting it", "stream", stream, "consumer", name, "damage", err)
		return removeConfig(dir)
	}
	return err
}

// errDamaged means that a configuration is damaged. errNewer means that it has settings this version of NATS does not
// know.
var (
	errDamaged = errors.New("damaged")
	errNewer   = errors.New("it was written by a newer version of NATS")
)

// checkConfig reads a directory's configuration, verifies its checksum and decodes it. The checksum is keyed with the
// given name.
func checkConfig[Config any](dir, name string) error {
	text, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err != nil {
		return damagedIfMissing(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, sumFile))
	if err != nil {
		return damagedIfMissing(err)
	}
	key := sha256.Sum256([]byte(name))
	sum, err := highwayhash.New64(key[:])
	if err != nil {
		return err
	}
	sum.Write(text)
	if hex.EncodeToString(sum.Sum(nil)) != string(want) {
		return fmt.Errorf("%w: its checksum does not match", errDamaged)
	}
	var config Config
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&config); err != nil {
		return fmt.Errorf("%w: %w", errNewer, err)
	}
	var required struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := json.Unmarshal(text, &required); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if level := required.Metadata[server.JSRequiredLevelMetadataKey]; level != "" {
		if n, err := strconv.Atoi(level); err != nil || n > server.JSApiLevel {
			return fmt.Errorf("%w: it requires API level %.20q, but this version has %d", errNewer, level, server.JSApiLevel)
		}
	}
	return nil
}

// damagedIfMissing converts the error for a nonexistent file to errDamaged. It returns other errors unchanged.
func damagedIfMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return err
}

func removeConfig(dir string) error {
	for _, file := range []string{metaFile, sumFile} {
		if err := os.Remove(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// First bytes of a consumer's state: a constant and the format version.
const (
	stateMagic   = 22
	stateVersion = 2
)

// isConsumerState reports whether a consumer's state has the server's format and plausible positions. For example, a
// message that was never sent cannot have been acknowledged. The state has no checksum to verify.
func isConsumerState(state []byte) bool {
	if len(state) < 2 || state[0] != stateMagic || state[1] != stateVersion {
		return false
	}
	r := bytes.NewReader(state[2:])
	next := func() uint64 {
		n, err := binary.ReadUvarint(r)
		if err != nil {
			r = bytes.NewReader(nil)
		}
		return n
	}
	ackedConsumer, ackedStream, sentConsumer, sentStream := next(), next(), next(), next()
	if ackedConsumer > sentConsumer || ackedStream > sentStream {
		return false
	}
	pending := next()
	if pending > uint64(r.Len()) {
		return false
	}
	if pending > 0 {
		next() // base for the timestamps
	}
	for range pending {
		if at := next(); at == 0 || ackedStream+at > sentStream {
			return false
		}
		next()
		next()
	}
	redelivered, err := binary.ReadUvarint(r)
	if err != nil || redelivered > uint64(r.Len()) {
		return false
	}
	for range redelivered {
		next()
		if _, err := binary.ReadUvarint(r); err != nil {
			return false
		}
	}
	return r.Len() == 0
}
