// peers FILE SCHEMA: claims of an 837P interchange as JSON by omniparser, to standard output.
package main

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/jf-tech/omniparser"
	"github.com/jf-tech/omniparser/transformctx"
)

func main() {
	schemaFile, err := os.Open(os.Args[2])
	check(err)
	schema, err := omniparser.NewSchema("claims", schemaFile)
	check(err)
	input, err := os.Open(os.Args[1])
	check(err)
	transform, err := schema.NewTransform("claims", input, &transformctx.Ctx{})
	check(err)
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	for {
		claim, err := transform.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		out.Write(claim)
		out.WriteByte('\n')
	}
	check(out.Flush())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
