package transformer

import "errors"

func (f *tokenizerFile) unigram(int) (speller, error) { return nil, errors.ErrUnsupported }
