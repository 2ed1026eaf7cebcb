package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// constants maps the names of a package's constants to their defining expressions.
type constants map[string]ast.Expr

// declared parses the Go files in `dir` and returns the constants that they declare.
func declared(dir string) (constants, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	out := constants{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec) // cannot fail: constant declarations contain only value specs
				for i := range min(len(v.Names), len(v.Values)) {
					out[v.Names[i].Name] = v.Values[i]
				}
			}
		}
	}
	return out, nil
}

// units maps the time package's unit names to nanoseconds.
var units = map[string]int64{"Millisecond": 1e6, "Second": 1e9, "Minute": 60e9, "Hour": 3600e9}

// value returns a constant's value: a whole number, or a duration in nanoseconds.
func (c constants) value(name string) (int64, error) {
	e, found := c[name]
	if !found {
		return 0, fmt.Errorf("there is no constant %s", name)
	}
	v, err := c.evaluate(e)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	n, exact := constant.Int64Val(constant.ToInt(v))
	if !exact {
		return 0, fmt.Errorf("%s is %s, which is not a whole number", name, v)
	}
	return n, nil
}

func (c constants) evaluate(e ast.Expr) (constant.Value, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0), nil
	case *ast.ParenExpr:
		return c.evaluate(e.X)
	case *ast.Ident:
		n, err := c.value(e.Name)
		return constant.MakeInt64(n), err
	case *ast.SelectorExpr:
		if unit, ok := units[e.Sel.Name]; ok {
			return constant.MakeInt64(unit), nil
		}
	case *ast.BinaryExpr:
		x, err := c.evaluate(e.X)
		if err != nil {
			return nil, err
		}
		y, err := c.evaluate(e.Y)
		if err != nil {
			return nil, err
		}
		if e.Op == token.SHL {
			n, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(n)), nil
		}
		return constant.BinaryOp(x, e.Op, y), nil
	}
	return nil, fmt.Errorf("expressions of type %T are not supported", e)
}

// number adds thousands separators: 1234567 becomes 1,234,567.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func bytesOf(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return number(n>>30) + " GiB"
	case n >= 1<<20 && n%(1<<20) == 0:
		return number(n>>20) + " MiB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return number(n>>10) + " KiB"
	}
	return number(n) + " bytes"
}

func timeOf(n int64) string {
	for _, u := range []struct {
		in   int64
		name string
	}{{24 * 3600e9, "day"}, {3600e9, "hour"}, {60e9, "minute"}, {1e9, "second"}, {1e6, "millisecond"}} {
		if n >= u.in && n%u.in == 0 {
			if n == u.in {
				return "1 " + u.name
			}
			return number(n/u.in) + " " + u.name + "s"
		}
	}
	return number(n) + " ns"
}
