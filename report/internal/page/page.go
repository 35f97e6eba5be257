// Package page makes self-contained HTML files: they need no network and no other file.
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

// The page allows its style sheet and script by their hashes only, so that the browser executes no injected script.
var funcs = template.FuncMap{
	"style":  func() template.CSS { return template.CSS(css) },
	"script": func() template.JS { return template.JS(js) },
	"policy": func(program any) string {
		policy := "default-src 'none'; img-src data:; style-src " + hashSource(css)
		switch program := program.(type) {
		case template.JS: // the page's own script, which may send requests to the page's server
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
	// relative returns the address of a file beside the page, whatever characters its name has.
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

// Render writes a page only after all of it was rendered.
func Render(w io.Writer, t *template.Template, data any) error {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}
