package main

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
)

// words splits a CMap's source into tokens: names, numbers, codes with their brackets, operators, and array brackets.
func words(data []byte) []string {
	var out []string
	for line := range bytes.Lines(data) {
		if i := bytes.IndexByte(line, '%'); i >= 0 {
			line = line[:i]
		}
		s := strings.NewReplacer("[", " [ ", "]", " ] ", "<", " <", ">", "> ", "/", " /").Replace(string(line))
		out = append(out, strings.Fields(s)...)
	}
	return out
}

// code parses <hex> and returns the value and its length in bytes.
func code(s string) (value uint32, length int) {
	s = strings.Trim(s, "<>")
	v, err := strconv.ParseUint(s, 16, 32)
	if err != nil {
		panic("not a code: " + s) // an error in Adobe's files
	}
	return uint32(v), len(s) / 2
}

func number(s string) uint32 {
	v, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		panic("not a number: " + s)
	}
	return uint32(v)
}

// utf16Runes reads <hex> as UTF-16.
func utf16Runes(s string) []rune {
	s = strings.Trim(s, "<>")
	var units []uint16
	for i := 0; i+4 <= len(s); i += 4 {
		v, err := strconv.ParseUint(s[i:i+4], 16, 16)
		if err != nil {
			panic("not UTF-16: " + s)
		}
		units = append(units, uint16(v))
	}
	return utf16.Decode(units)
}
