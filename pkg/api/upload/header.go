package upload

import "mime"

// HeaderType returns the type if it is valid in a header, otherwise application/octet-stream.
func HeaderType(kind string) string {
	if _, _, err := mime.ParseMediaType(kind); err != nil {
		return "application/octet-stream"
	}
	return kind
}

// Attachment returns a Content-Disposition that makes browsers save the file under the name (RFC 6266).
func Attachment(name string) string {
	if value := mime.FormatMediaType("attachment", map[string]string{"filename": name}); value != "" {
		return value
	}
	return "attachment"
}
