package transformer

import "errors"

func parseONNX([]byte) (map[string]tensor, error) { return nil, errors.ErrUnsupported }
