package content

import (
	"bytes"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/wordset"
)

// mediaExtensions are the extensions of images, video, audio, fonts and archives. Such files have no text, and sites
// link to many of them, so links to them are not followed. The few pages with such an extension are fetched only if a
// sitemap lists them.
var mediaExtensions = wordset.Of(`.png .jpg .jpeg .gif .webp .avif .svg .ico .bmp .tif .tiff .heic .mp3 .mp4 .m4a .m4v .wav
	.ogg .ogv .webm .avi .mov .mkv .flac .aac .woff .woff2 .ttf .otf .eot .zip .gz .tgz .bz2 .xz .7z .rar .tar .deb .rpm
	.apk .torrent`)

// codeExtensions are the extensions of other files without text. Some pages have such names (Node.js, scale.ai), so
// links to them are followed, and the response's type decides whether the body is read.
var codeExtensions = wordset.Of(`.css .js .mjs .map .ai .bin .jar .exe .wasm .psd .eps .swf .pkg .iso .msi .dmg`)

// IsMedia reports whether a path names a file that certainly has no text. Wiki pages about files, such as
// File:Harbour.jpg, do not count.
func IsMedia(p string) bool {
	return mediaExtensions[strings.ToLower(path.Ext(p))] && !strings.Contains(path.Base(p), ":")
}

// IsDownloadOf reports whether a link leads to a file without text. The parameters are the link's href, type and
// download attributes. IsDownloadOf goes by the type or, if the link is marked as a download, by the extension.
func IsDownloadOf(href, mediaType string, download bool) bool {
	if mediaType != "" && IsBinary(Declared(mediaType).Media) {
		return true
	}
	if !download {
		return false
	}
	u, err := url.Parse(href)
	if err != nil {
		return false
	}
	ext := strings.ToLower(path.Ext(u.Path))
	return mediaExtensions[ext] || codeExtensions[ext]
}

// binaryTypes are media types without text, except for the families of types in IsBinary.
var binaryTypes = wordset.Of(`text/css text/javascript text/ecmascript application/javascript application/x-javascript application/ecmascript
	application/x-7z-compressed application/x-rar-compressed application/x-rar application/vnd.rar application/x-tar application/x-gtar
	application/x-bzip application/x-bzip2 application/x-xz application/x-lzma application/zstd application/java-archive
	application/x-java-archive application/java-vm application/x-msdownload application/x-msdos-program application/x-msi
	application/vnd.microsoft.portable-executable application/x-dosexec application/x-executable application/x-elf
	application/x-sharedlib application/x-mach-binary application/x-apple-diskimage application/vnd.android.package-archive
	application/vnd.debian.binary-package application/x-debian-package application/x-rpm application/x-redhat-package-manager
	application/x-iso9660-image application/x-cd-image application/wasm application/x-shockwave-flash
	application/vnd.adobe.flash.movie application/x-bittorrent application/font-woff application/font-woff2 application/x-font-ttf
	application/x-font-otf application/x-font-woff application/vnd.ms-fontobject application/postscript application/illustrator
	application/vnd.adobe.illustrator application/vnd.adobe.photoshop application/x-photoshop application/ogg application/mp4
	application/x-mpegurl application/vnd.apple.mpegurl application/dash+xml application/vnd.sqlite3 application/x-sqlite3
	application/x-xpinstall application/x-chrome-extension`)

// IsBinary reports whether content of a media type has no text. Such bodies are not read.
func IsBinary(media string) bool {
	for _, family := range []string{"image/", "video/", "audio/", "font/"} {
		if strings.HasPrefix(media, family) {
			return true
		}
	}
	return binaryTypes[media]
}

// archiveExtensions are the extensions of zip containers that are not documents.
var archiveExtensions = wordset.Of(`.zip .jar .war .ear .apk .xpi .crx .whl .nupkg .vsix .ipa`)

// HeadBytes is the number of leading bytes needed to recognise a body's type.
const HeadBytes = 4 << 10

// HoldsNoText reports whether a body certainly has no text, based on its type, first bytes and file names. If in doubt,
// it returns false, because extraction later reads the whole body and can decide.
func HoldsNoText(kind Type, head []byte, names ...string) bool {
	if IsBinary(kind.Media) {
		return true
	}
	ext := ""
	for _, name := range names {
		if ext == "" {
			ext = strings.ToLower(path.Ext(name))
		}
	}
	switch kind.Media {
	case "application/zip", "application/x-zip-compressed":
		return archiveExtensions[ext]
	case "application/octet-stream":
		return len(head) > 0 && (isProgram(head) || extract.DetectType(head, "", "") == "application/octet-stream")
	case "application/json":
		return ext == ".map" // a script's source map
	}
	return false
}

// programMagics are the magic numbers of programs, archives and databases, whose many zero bytes look like UTF-16.
var programMagics = []string{
	"\x7fELF", "MZ", "\xca\xfe\xba\xbe", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\x00asm",
	"!<arch>\n", "Rar!\x1a\x07", "7z\xbc\xaf\x27\x1c", "\xfd7zXZ\x00", "BZh", "SQLite format 3\x00", "ISc(", "koly",
}

func isProgram(head []byte) bool {
	return slices.ContainsFunc(programMagics, func(m string) bool { return bytes.HasPrefix(head, []byte(m)) })
}
