package pdfobject

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
)

// ErrEncrypted means that the file needs a password.
var ErrEncrypted = errors.New("the file is encrypted")

var errMalformed = errors.New("the encryption dictionary is malformed")

// crypt decrypts the strings and streams of a file that opens with an empty password.
type crypt struct {
	key      []byte
	own      uint32 // object number of the encryption dictionary, which is not encrypted
	strs     method
	streams  method
	metadata bool // metadata streams are encrypted too
	filters  map[string]method
}

// method is the encryption method of strings or streams.
type method byte

const (
	plainText method = iota
	rc4Method
	aes128
	aes256
)

// passwordPad pads short passwords (ISO 32000, algorithm 2).
var passwordPad = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

// decrypt sets up decryption if the trailer requires it. It returns ErrEncrypted if a password is needed.
func (f *File) decrypt() error {
	ref := f.trailer.Key("Encrypt")
	dict := f.resolve(ref)
	if dict.Kind != Dict {
		return nil
	}
	get := func(key string) Token { return f.resolve(dict.Key(key)) }
	switch name := get("Filter").Str; name {
	case "Standard":
	case "":
		return errMalformed
	default:
		return fmt.Errorf("%w with handler %q, not with a password", ErrEncrypted, name)
	}
	c := &crypt{metadata: true, filters: map[string]method{"Identity": plainText}}
	if ref.Kind == Ref {
		c.own = uint32(ref.Num)
	}
	if v := get("EncryptMetadata"); v.Kind == Bool {
		c.metadata = v.Num == 1
	}
	version := get("V").integer()
	bits := get("Length").integer()
	switch {
	case version == 1:
		bits = 40
	case version == 4:
		bits = 128
	case bits == 0:
		bits = 40
	case bits < 40: // some programs write the length in bytes
		bits *= 8
	}
	c.strs, c.streams = rc4Method, rc4Method
	if version >= 4 {
		c.readFilters(f, get("CF"))
		c.strs, c.streams = c.methodOf(get("StrF")), c.methodOf(get("StmF"))
	}
	id := ""
	if ids := f.resolve(f.trailer.Key("ID")); len(ids.Items) > 0 {
		id = f.resolve(ids.Items[0]).Str
	}
	s := security{
		revision: get("R").integer(), size: max(5, min(bits/8, 16)), owner: get("O").Str, user: get("U").Str,
		ownerKey: get("OE").Str, userKey: get("UE").Str, permissions: uint32(int64(get("P").Num)), id: id, metadata: c.metadata,
	}
	key, err := s.fileKey()
	if err != nil {
		return err
	}
	c.key = key
	f.crypt = c
	f.images = newCache[uint32, []byte](maxImages)
	f.packed = newCache[uint32, *objectStream](maxPacked)
	return nil
}

func (c *crypt) readFilters(f *File, cf Token) {
	for i := 0; i+1 < len(cf.Items) && i < 64; i += 2 {
		m := plainText
		switch f.resolve(f.resolve(cf.Items[i+1]).Key("CFM")).Str {
		case "V2":
			m = rc4Method
		case "AESV2":
			m = aes128
		case "AESV3":
			m = aes256
		}
		c.filters[cf.Items[i].Str] = m
	}
}

func (c *crypt) methodOf(name Token) method { return c.filters[name.Str] }

// security holds the encryption dictionary's entries and the file's identifier.
type security struct {
	revision, size    int // `size` is the key size in bytes
	owner, user       string
	ownerKey, userKey string
	permissions       uint32
	id                string
	metadata          bool
}

// fileKey derives the file key, trying the empty password as both user and owner password.
func (s security) fileKey() ([]byte, error) {
	switch {
	case s.revision >= 5:
		return s.fileKey256()
	case s.revision < 2 || len(s.owner) < 32 || len(s.user) < 16:
		return nil, errMalformed
	}
	for _, password := range [][]byte{nil, s.userPassword(nil)} {
		if key := s.key128(password); s.opens(key) {
			return key, nil
		}
	}
	return nil, ErrEncrypted
}

func padPassword(password []byte) []byte { return append(bytes.Clone(password), passwordPad...)[:32] }

// key128 derives the file key from a password (algorithm 2 of ISO 32000).
func (s security) key128(password []byte) []byte {
	h := md5.New()
	h.Write(padPassword(password))
	h.Write([]byte(s.owner[:32]))
	h.Write([]byte{byte(s.permissions), byte(s.permissions >> 8), byte(s.permissions >> 16), byte(s.permissions >> 24)})
	h.Write([]byte(s.id))
	if s.revision >= 4 && !s.metadata {
		h.Write([]byte{0xff, 0xff, 0xff, 0xff})
	}
	key := h.Sum(nil)
	if s.revision == 2 {
		return key[:5]
	}
	for range 50 {
		sum := md5.Sum(key[:s.size])
		key = sum[:]
	}
	return key[:s.size]
}

// opens reports whether `key` is the correct key for the file (algorithms 4 and 5 of ISO 32000).
func (s security) opens(key []byte) bool {
	if s.revision == 2 {
		return string(rc4Text(key, passwordPad)) == s.user
	}
	sum := md5.Sum(append(bytes.Clone(passwordPad), s.id...))
	u := sum[:]
	for i := range 20 {
		u = rc4Text(mixed(key, byte(i)), u)
	}
	return string(u) == s.user[:16]
}

// userPassword derives the user password from the owner password (algorithm 7).
func (s security) userPassword(owner []byte) []byte {
	sum := md5.Sum(padPassword(owner))
	key := sum[:]
	if s.revision == 2 {
		return rc4Text(key[:5], []byte(s.owner[:32]))
	}
	for range 50 {
		sum = md5.Sum(key)
		key = sum[:]
	}
	u := []byte(s.owner[:32])
	for i := 19; i >= 0; i-- {
		u = rc4Text(mixed(key[:s.size], byte(i)), u)
	}
	return u
}

func mixed(key []byte, with byte) []byte {
	out := make([]byte, len(key))
	for i, c := range key {
		out[i] = c ^ with
	}
	return out
}

func rc4Text(key, data []byte) []byte {
	out := make([]byte, len(data))
	c, err := rc4.NewCipher(key)
	if err != nil {
		return out // cannot happen: keys have 5 to 16 bytes
	}
	c.XORKeyStream(out, data)
	return out
}

// fileKey256 derives the file key for revisions 5 and 6 (algorithm 2.A of ISO 32000-2).
func (s security) fileKey256() ([]byte, error) {
	if len(s.owner) < 48 || len(s.user) < 48 || len(s.ownerKey) < 32 || len(s.userKey) < 32 {
		return nil, errMalformed
	}
	u := s.user[:48]
	var key []byte
	var packed string
	switch {
	case bytes.Equal(s.hash256(s.user[32:40], ""), []byte(s.user[:32])):
		key, packed = s.hash256(s.user[40:48], ""), s.userKey[:32]
	case bytes.Equal(s.hash256(s.owner[32:40], u), []byte(s.owner[:32])):
		key, packed = s.hash256(s.owner[40:48], u), s.ownerKey[:32]
	default:
		return nil, ErrEncrypted
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("preparing decryption: %w", err)
	}
	out := make([]byte, 32)
	cipher.NewCBCDecrypter(block, make([]byte, 16)).CryptBlocks(out, []byte(packed))
	return out, nil
}

// hash256 hashes the empty password with a salt: algorithm 2.B in revision 6, a single SHA-256 in revision 5.
func (s security) hash256(salt, extra string) []byte {
	sum := sha256.Sum256([]byte(salt + extra))
	k := sum[:]
	if s.revision == 5 {
		return k
	}
	for round := 0; ; round++ {
		text := bytes.Repeat(append(bytes.Clone(k), extra...), 64)
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil // cannot happen: the key has 16 bytes
		}
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(text, text)
		rest := 0
		for _, c := range text[:16] {
			rest += int(c)
		}
		switch rest % 3 {
		case 0:
			h := sha256.Sum256(text)
			k = h[:]
		case 1:
			h := sha512.Sum384(text)
			k = h[:]
		default:
			h := sha512.Sum512(text)
			k = h[:]
		}
		if round >= 63 && int(text[len(text)-1]) <= round-32 {
			return k[:32]
		}
	}
}

// strings decrypts an object's strings in place.
func (c *crypt) strings(v *Token, number, gen uint32) {
	if c.strs == plainText {
		return
	}
	if v.Kind == String {
		v.Str = string(c.text(c.strs, []byte(v.Str), number, gen))
	}
	for i := range v.Items {
		c.strings(&v.Items[i], number, gen)
	}
}

// stream decrypts the data of a stream.
func (c *crypt) stream(o object) []byte {
	m := c.streams
	switch o.value.Key("Type").Str {
	case "XRef":
		return o.raw
	case "Metadata":
		if !c.metadata {
			return o.raw
		}
	}
	if firstItem(firstKey(o.value, "Filter", "F")).Str == "Crypt" {
		m = c.filters[firstItem(firstKey(o.value, "DecodeParms", "DP")).Key("Name").Str]
	}
	return c.text(m, o.raw, o.number, o.gen)
}

// text decrypts a single string or stream in an object.
func (c *crypt) text(m method, data []byte, number, gen uint32) []byte {
	key := c.key
	if m == rc4Method || m == aes128 {
		key = append(bytes.Clone(c.key), byte(number), byte(number>>8), byte(number>>16), byte(gen), byte(gen>>8))
		if m == aes128 {
			key = append(key, "sAlT"...)
		}
		sum := md5.Sum(key)
		key = sum[:min(len(c.key)+5, 16)]
	}
	switch m {
	case plainText:
		return data
	case rc4Method:
		return rc4Text(key, data)
	}
	block, err := aes.NewCipher(key)
	if err != nil || len(data) < 32 {
		return nil
	}
	body := bytes.Clone(data[16 : len(data)-len(data)%16])
	cipher.NewCBCDecrypter(block, data[:16]).CryptBlocks(body, body)
	if pad := int(body[len(body)-1]); pad >= 1 && pad <= 16 {
		body = body[:len(body)-pad]
	}
	return body
}
