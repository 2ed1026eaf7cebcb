package extracttest

// RowSource is a file that repeats one row endlessly without holding it in memory.
type RowSource string

// ReadAt implements io.ReaderAt.
func (s RowSource) ReadAt(p []byte, at int64) (int, error) {
	for i := range p {
		p[i] = s[(at+int64(i))%int64(len(s))]
	}
	return len(p), nil
}
