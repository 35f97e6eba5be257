// Package page makes HTML files that need nothing else: no network, no other file.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"net/url"
	"path"

	"github.com/lockstep-go/lockstep/report/internal/plain"
)

//go:embed head.html
var head string

//go:embed page.css
var css string

//go:embed page.js
var js string

// The style sheet and the program of a page are allowed to the browser by their hashes
// alone, so that nothing else on the page could run even if it got there.
var funcs = template.FuncMap{
	"style":  func() template.CSS { return template.CSS(css) },
	"script": func() template.JS { return template.JS(js) },
	"policy": func(program any) string {
		policy := "default-src 'none'; img-src data:; style-src " + hashSource(css)
		switch program := program.(type) {
		case template.JS: // a program of the page's own, which may ask the server that the page is from
			policy += "; connect-src 'self'; script-src " + hashSource(string(program))
		case bool:
			if program {
				policy += "; script-src " + hashSource(js)
			}
		}
		return policy
	},
	"clean": plain.Clean,
	"lines": plain.Lines,
	"short": plain.Short,
	// relative is the address of a file beside the page, whatever it is called.
	"relative": func(file string) string { return "./" + url.PathEscape(path.Base(file)) },
}

func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Parse makes the template of a page from its body.
func Parse(name, body string) *template.Template {
	return template.Must(template.New(name).Funcs(funcs).Parse(head + body))
}

// Render writes a page only when all of it could be made.
func Render(w io.Writer, t *template.Template, data any) error {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}
